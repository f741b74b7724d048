#!/usr/bin/env bash
# Makes sure that a Docker engine answers: installs Debian's and starts it by hand where nothing (no systemd, say)
# has started one. Its process id is kept in the cache; stop-docker.sh ends it.
. "$(dirname "$0")/../lib.sh"
RUNTIME=$CACHE/docker/runc-within-bounds

docker_answers() { timeout 20 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# A container that is privileged asks for every capability. Where this machine has given up some for good, runc fails
# on them; then our wrapper is the default runtime and takes what cannot be had out of the request.
missing_capabilities() {
    local bounds name bit=0
    bounds=$((16#$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)))
    # in the order of their numbers in linux/capability.h
    for name in chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable \
        net_bind_service net_broadcast net_admin net_raw ipc_lock ipc_owner sys_module sys_rawio sys_chroot \
        sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease \
        audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read \
        perfmon bpf checkpoint_restore; do
        (((bounds >> bit) & 1)) || printf 'CAP_%s\n' "${name^^}"
        bit=$((bit + 1))
    done
}

start_docker() {
    local options=() missing
    mkdir -p "$CACHE/docker"
    missing=$(missing_capabilities)
    if [ -n "$missing" ]; then
        install -m 0755 "$TOOLS/cluster/runc-within-bounds.sh" "$RUNTIME"
        printf '%s\n' "$missing" | jq -R . | jq -sc . >"$RUNTIME.missing"
        options=(--add-runtime "bounded=$RUNTIME" --default-runtime bounded)
    fi
    rm -f /var/run/docker.pid
    # it outlives this script, and holds no file of a caller (tools/test.sh has a lock on 9)
    setsid nohup dockerd "${options[@]}" >"$CACHE/docker/dockerd.log" 2>&1 </dev/null 9>&- &
    echo $! >"$CACHE/docker/dockerd.pid"
    for _ in $(seq 120); do
        docker_answers && return
        kill -0 "$(cat "$CACHE/docker/dockerd.pid")" 2>/dev/null || break
        sleep 0.5
    done
    tail -n 20 "$CACHE/docker/dockerd.log"
    return 1
}

if ! command -v docker >/dev/null || ! docker_answers; then
    need_packages docker.io iptables jq
    # a package may have started its service
    docker_answers || step "start dockerd" start_docker
fi
