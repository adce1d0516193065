#!/usr/bin/env bash
# Fingerprints a pool by a runner of Apache Beam: options, then the runner (direct,
# dataflow, flink or spark), then arguments of routejax.fingerprint. Every worker must see
# the pool and --workdir under the same paths, as in a bucket that its image mounts. The
# same command goes on after a kill: parts that are there are not made again.
#
#     bash launch/beam.sh direct --config=configs/openthoughts3.py \
#         --config.pool.paths=FILES
#     bash launch/beam.sh --project=p --region=us-east5 --bucket=my-runs --image=IMAGE \
#         dataflow --config=… --workdir=/mnt/bucket/openthoughts3
#
#     --dry-run                     prints the command
#     --project, --region, --bucket of Dataflow, --bucket for its own files
#     --image                       with this project installed, of workers elsewhere
#     --master                      HOST:PORT of Flink, spark://HOST:PORT of Spark
set -euo pipefail
cd "$(dirname "$0")/.."
source launch/commands.sh
dry="" project="" region="" bucket="" image="" master=""
while [ "$#" -gt 0 ]; do
    case "$1" in
        --dry-run) dry=1 ;;
        --project=*) project="${1#*=}" ;;
        --region=*) region="${1#*=}" ;;
        --bucket=*) bucket="${1#*=}" && bucket="${bucket#gs://}" ;;
        --image=*) image="${1#*=}" ;;
        --master=*) master="${1#*=}" ;;
        *) break ;;
    esac
    shift
done

# Stops where an option that the runner needs was not given.
need() {
    for option in "$@"; do
        if [ -z "${!option}" ]; then
            echo "launch/beam.sh: $asked needs --$option" >&2
            exit 2
        fi
    done
}

asked="${1:-}"
docker="--environment_type=DOCKER --environment_config=$image"
case "$asked" in
    direct)
        runner=DirectRunner
        options="--direct_num_workers=0 --direct_running_mode=multi_processing" ;;
    dataflow)
        need project region bucket image
        runner=DataflowRunner
        options="--project=$project --region=$region --temp_location=gs://$bucket/beam"
        options+=" --sdk_container_image=$image" ;;
    flink)
        need master image
        runner=FlinkRunner
        options="--flink_master=$master $docker" ;;
    spark)
        need master image
        runner=SparkRunner
        options="--spark_master_url=$master $docker" ;;
    *)
        echo "usage: bash launch/beam.sh [options] direct|dataflow|flink|spark" \
             "[arguments of routejax.fingerprint]; options are told in the file" >&2
        exit 2 ;;
esac
shift
extra="beam" run source launch/environment.sh
run exec python -m routejax.fingerprint "$@" \
    "--config.beam.runner=$runner" "--config.beam.options=$options"
