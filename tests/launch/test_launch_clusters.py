"""Scripts for pods and clusters: what they would do, and what they do to stand-ins."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from runs import ROOT, WAIT_S, scratch

RECIPE = "--config=configs/rlve.py:qwen3_1b7"
# A command that notes its arguments and does as it is told, a line for each call.
STANDIN = """#!/usr/bin/env bash
printf '%q ' "$(basename "$0")" "$@" >> "$ASKED"
echo >> "$ASKED"
told="$(head -n 1 "$TOLD")"
sed -i 1d "$TOLD"
eval "$told"
"""


def launch(script, *arguments, **environment):
    return subprocess.run(
        ["bash", str(ROOT / "launch" / script), *arguments],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere", **environment},
        check=False,
        timeout=WAIT_S,
    )


def dry(script, *arguments):
    """The commands that a script would give, as words."""
    ended = launch(script, "--dry-run", *arguments)
    assert ended.returncode == 0, ended.stderr
    return [shlex.split(line, comments=True) for line in ended.stdout.splitlines()]


def checker():
    beside = Path(sys.executable).parent / "shellcheck"
    return str(beside) if beside.exists() else shutil.which("shellcheck")


@pytest.mark.skipif(checker() is None, reason="there is no shellcheck")
def test_scripts_pass_shellcheck():
    scripts = sorted(path.name for path in (ROOT / "launch").glob("*.sh"))
    ended = subprocess.run(
        [checker(), "-x", "-s", "bash", *(f"launch/{name}" for name in scripts)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout


def test_local_says_its_command():
    assert dry("local.sh", "--config.seeds=0,1") == [
        ["source", "launch/environment.sh"],
        [
            *("exec", "python", "-m", "routejax.train", "--config=configs/rlve.py"),
            "--config.seeds=0,1",
        ],
    ]


def test_processes_have_a_gpu_each_and_one_coordinator():
    first, second = dry("processes.sh", "2", RECIPE, "--workdir=a b")[-2:]
    for number, command in enumerate((first, second)):
        assert command[:2] == ["env", f"CUDA_VISIBLE_DEVICES={number}"]
        assert command[3:] == [
            *("-m", "routejax.train", RECIPE, "--workdir=a b"),
            *("--coordinator=127.0.0.1:PORT", "--processes=2", f"--process={number}"),
        ]
    assert launch("processes.sh", "two").returncode == 2


POD = (
    *("--type=v5p-64", "--version=v2-alpha-tpuv5", "--spot", "--bucket=gs://my-runs"),
    *("pod-1", "us-east5-a", "/mnt/a folder", RECIPE, "--config.seeds=0,1"),
)


def test_a_pod_is_asked_for_and_its_hosts_mount_the_bucket():
    create, describe, ssh = dry("tpu_pod.sh", *POD)
    queue = ["gcloud", "compute", "tpus", "queued-resources"]
    assert create == [
        *(*queue, "create", "pod-1", "--node-id=pod-1", "--zone=us-east5-a"),
        *("--accelerator-type=v5p-64", "--runtime-version=v2-alpha-tpuv5", "--spot"),
    ]
    assert describe[:6] == [*queue, "describe", "pod-1"]
    assert ssh[:7] == [
        *("gcloud", "compute", "tpus", "tpu-vm", "ssh", "pod-1", "--zone=us-east5-a"),
    ]
    assert "--worker=all" in ssh
    remote = ssh[-1].removeprefix("--command=")
    assert subprocess.run(["bash", "-n", "-c", remote], check=False).returncode == 0
    words = shlex.split(remote)
    assert words[:2] == ["cd", "/mnt/a folder"]
    assert "gcsfuse --implicit-dirs my-runs" in remote
    start = words.index("routejax.train")
    assert words[start + 1 :] == [
        *("--distributed", "--workdir=$HOME/routejax-bucket/pod-1"),
        *(RECIPE, "--config.seeds=0,1"),
    ]


def test_a_pod_that_is_there_is_only_used():
    (ssh,) = dry("tpu_pod.sh", "pod-1", "us-east5-a", "/mnt/clone", RECIPE)
    assert "gcsfuse" not in ssh[-1]
    assert ssh[-1].endswith(f"routejax.train --distributed {RECIPE}")
    for wrong in (("pod-1", "zone"), ("--type=v5p-8", "pod-1", "zone", "/mnt")):
        ended = launch("tpu_pod.sh", *wrong)
        assert ended.returncode == 2
        assert ended.stderr.startswith("usage: bash launch/tpu_pod.sh")


def stood_in(folder, told, names):
    """Environment with stand-ins, which do the lines of `told` one after the other."""
    (folder / "bin").mkdir()
    for name in names:
        path = folder / "bin" / name
        path.write_text(STANDIN)
        path.chmod(0o755)
    (folder / "told").write_text("".join(f"{line}\n" for line in told))
    return {
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "ASKED": str(folder / "asked"),
        "TOLD": str(folder / "told"),
        "ROUTEJAX_POLL_S": "0",
    }


def calls(folder):
    return [shlex.split(line) for line in (folder / "asked").read_text().splitlines()]


def test_a_preempted_pod_is_asked_for_again_and_goes_on(tmp_path):
    told = [
        *("exit 1", "exit 0", "echo ACTIVE"),  # none, made, there
        *("exit 255", "echo SUSPENDED"),  # the hosts are gone
        *("echo SUSPENDED", "exit 0", "exit 1", "exit 0", "echo ACTIVE"),
        *("exit 75", "echo ACTIVE"),  # saved, and still there
        "exit 2",  # a mistake of the user's: no use to go on
        "echo ACTIVE",
    ]
    environment = stood_in(tmp_path, told, ["gcloud"])
    ended = launch("tpu_pod.sh", *POD, **environment)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("pod-1 was stopped; going on") == 2
    done = [call[4] for call in calls(tmp_path)]
    assert done == [
        *("describe", "create", "describe", "ssh", "describe"),
        *("describe", "delete", "describe", "create", "describe"),
        *("ssh", "describe", "ssh", "describe"),
    ]


def test_slices_of_a_cluster():
    asked = ("--cluster=c", "--type=v5p-64", "--image=i", "--folder=/mnt/b", "run-1")
    (command,) = dry("gke.sh", *asked, RECIPE)
    assert command[:4] == ["exec", "xpk", "workload", "create"]
    assert command[4:9] == [
        *("--cluster=c", "--workload=run-1", "--tpu-type=v5p-64", "--num-slices=1"),
        "--docker-image=i",
    ]
    assert "--restart-on-exit-codes=75" in command
    assert "--max-restarts=100" in command
    assert command[-1] == (
        "--command=cd /routejax && exec python -m routejax.train --distributed "
        f"--workdir=/mnt/b/run-1 {RECIPE}"
    )
    assert launch("gke.sh", "--cluster=c", "run-1").returncode == 2


@pytest.mark.parametrize(("per", "tasks"), [("gpu", 4), ("node", 1)])
def test_a_job_has_a_process_for_each_gpu_or_node(per, tasks):
    asked = ("--nodes=2", "--gpus=4", f"--per={per}", "--sbatch=--partition=p x")
    submit, *job = dry("slurm.sh", *asked, RECIPE)
    assert submit == [
        *("sbatch", "--nodes=2", f"--ntasks-per-node={tasks}", "--gpus-per-node=4"),
        *("--requeue", "--open-mode=append", "--signal=B:TERM@120"),
        *("--partition=p x", "launch/slurm_job.sh", RECIPE),
    ]
    if per == "node":
        assert job.pop(0) == ["export", "JAX_LOCAL_DEVICE_IDS=0,1,2,3"]
    assert job[0][:2] == ["srun", "--kill-on-bad-exit=0"]
    assert job[0][-3:] == ["routejax.train", "--distributed", RECIPE]
    assert job[1] == ["scontrol", "requeue", "$SLURM_JOB_ID"]


@pytest.mark.parametrize(("status", "again"), [(0, 0), (2, 0), (75, 1)])
def test_a_job_that_has_saved_goes_into_the_queue_again(status, again, tmp_path):
    environment = stood_in(tmp_path, [f"exit {status}", ""], ["srun", "scontrol"])
    ended = subprocess.run(
        ["bash", "launch/slurm_job.sh", "gpu", "4", RECIPE],
        cwd=ROOT,
        env=environment | {"SLURM_JOB_ID": "7"},
        check=False,
    )
    assert ended.returncode == status
    assert calls(tmp_path)[1:] == [["scontrol", "requeue", "7"]] * again


BEAM = {
    "direct": ((), "DirectRunner", "--direct_num_workers=0"),
    "dataflow": (
        ("--project=p", "--region=r", "--bucket=gs://b", "--image=i"),
        "DataflowRunner",
        "--temp_location=gs://b/beam --sdk_container_image=i",
    ),
    "flink": (("--master=h:1", "--image=i"), "FlinkRunner", "--flink_master=h:1"),
    "spark": (
        ("--master=spark://h:1", "--image=i"),
        "SparkRunner",
        "--spark_master_url=spark://h:1 --environment_type=DOCKER",
    ),
}


@pytest.mark.parametrize("name", BEAM)
def test_fingerprints_by_beam(name):
    options, runner, wanted = BEAM[name]
    recipe = "--config=configs/openthoughts3.py"
    command = dry("beam.sh", *options, name, recipe)[-1]
    start = ["exec", "python", "-m", "routejax.fingerprint", recipe]
    assert command[:5] == start
    assert command[5] == f"--config.beam.runner={runner}"
    assert wanted in command[6].removeprefix("--config.beam.options=")
    if options:
        ended = launch("beam.sh", name, recipe)
        assert ended.returncode == 2
        assert f"{name} needs --" in ended.stderr


def small(root):
    """A run by `processes.sh`, two processes of one CPU device each."""
    env = os.environ | {"JAX_PLATFORMS": "cpu", "ROUTEJAX_PYTHON": sys.executable}
    env["PYTHONPATH"] = str(ROOT)
    env.pop("XLA_FLAGS", None)
    return subprocess.Popen(
        [
            *("bash", str(ROOT / "launch" / "processes.sh"), "2"),
            *("--config=configs/rlve.py:smoke_qwen3", "--config.arms=diverse,"),
            *("--config.grpo.steps=40", "--config.checkpoint.every_s=0"),
            f"--workdir={root}",
        ],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_two_processes_of_this_machine_stop_together_and_go_on():
    root = scratch("processes")
    log = root / "arms/diverse/seed_0/grpo/metrics.jsonl"
    started, until = small(root), time.monotonic() + WAIT_S
    while not (log.exists() and log.read_bytes().count(b"\n") > 1):
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)  # to the script alone
    out, err = started.communicate(timeout=WAIT_S)
    assert started.returncode == 75, (out, err)
    assert err.count("routejax: stopped by SIGTERM") == 2
    done = log.read_bytes().count(b"\n")
    assert done < 40
    again = small(root)
    out, err = again.communicate(timeout=WAIT_S)
    assert again.returncode == 0, (out, err)
    assert log.read_bytes().count(b"\n") == 40
    assert json.loads((root / "results.json").read_text())["arms"].keys() == {"diverse"}
