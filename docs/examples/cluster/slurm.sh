#!/bin/bash
# A run on the nodes of one Slurm job: a Ray cluster that lives as long as the job.
#
#   sbatch --nodes 4 slurm.sh run help_or_harm/response --model http://127.0.0.1:8000/v1#name --out runs/mine
#
# What follows the script is the command, without `mindgauge` and without `--engine`. Submit the same line again to go on
# where the last job's time ended. The folder of the run is on a file system that the job's first node can write;
# ~/mindgauge/.venv (or VENV) holds `mindgauge[ray]` on all nodes.
#SBATCH --job-name=mindgauge
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --time=04:00:00
set -euo pipefail

source "${VENV:-$HOME/mindgauge/.venv}/bin/activate"
ulimit -n "$(ulimit -Hn)"

# srun passes the environment on; only processes of this job have the token.
RAY_AUTH_TOKEN=$(python -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
head_ip=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | awk '{print $1}')
# Jobs that share a node each need a port; below those that Ray gives to its workers.
port=$((6400 + SLURM_JOB_ID % 1000))
export RAY_ADDRESS=$head_ip:$port

trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
srun --nodes=1 --ntasks=1 --overlap --nodelist="$head" \
    ray start --head --block --node-ip-address "$head_ip" --port "$port" --num-cpus "$SLURM_CPUS_PER_TASK" \
    --include-dashboard false --temp-dir "/tmp/ray-$SLURM_JOB_ID" >"ray-$SLURM_JOB_ID.log" 2>&1 &

# The others wait for the head by themselves.
if ((${#nodes[@]} > 1)); then
    srun --nodes=$((${#nodes[@]} - 1)) --ntasks=$((${#nodes[@]} - 1)) --overlap --exclude="$head" \
        bash -c 'for try in {1..30}; do ray health-check --address "$RAY_ADDRESS" && break; sleep 2; done;
                 exec ray start --address "$RAY_ADDRESS" --block --num-cpus "$SLURM_CPUS_PER_TASK"' \
        >>"ray-$SLURM_JOB_ID.log" 2>&1 &
fi

# One actor a node, so all nodes should be there before the run begins; one that fails to come is done without.
for try in {1..60}; do
    (($(ray status 2>/dev/null | grep -c ' node_') >= ${#nodes[@]})) && break
    sleep 2
done

mindgauge "$@" --engine ray
