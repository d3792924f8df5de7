#!/usr/bin/env bash
# Runs real programs with and without coz-rs and compares what they print and how they end. Not part
# of the gate: it installs Debian packages (as root) and takes some minutes. Loopback only.
#
#   tests/real-programs.sh [NAME…]      COZ_RS=path of the command, default target/release/coz-rs
#
# Prints one line a program. The exit status is the number of programs that differ.
set -u
cd "$(dirname "$0")/.."
COZ_RS=$(realpath "${COZ_RS:-target/release/coz-rs}")
PACKAGES=(zstd pigz xz-utils sqlite3 memcached libmemcached-tools redis-server redis-tools
    nginx-light wrk apache2-utils ripgrep python3 libjemalloc2 g++ libgomp1 postgresql)
if [ "${INSTALL:-1}" = 1 ] && [ "$(id -u)" = 0 ]; then
    for package in "${PACKAGES[@]}"; do
        dpkg -s "$package" >/dev/null 2>&1 && continue
        DEBIAN_FRONTEND=noninteractive timeout 120 apt-get install -y -q --no-install-recommends \
            "$package" >/dev/null 2>&1 || echo "not installed: $package"
    done
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/coz-rs-real-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
differing=0

have() {
    for word in "$@"; do command -v "$word" >/dev/null 2>&1 || [ -e "$word" ] || return 1; done
}

# compare NAME COMMAND…: the same command plainly and profiled. A run that learned nothing ends with
# 1 in place of 0.
compare() {
    local name=$1 plain status begin profiled=0 seconds
    shift
    timeout 60 "$@" >plain.out 2>plain.err </dev/null
    plain=$?
    begin=$(date +%s%N)
    timeout 120 "$COZ_RS" run --force -o profile.coz -- "$@" >profiled.out 2>profiled.err </dev/null
    profiled=$?
    seconds=$((($(date +%s%N) - begin) / 1000000))
    status=$profiled
    [ "$plain" = 0 ] && [ "$profiled" = 1 ] && status=0
    report "$name" "$plain" "$status" "$seconds"
}

report() {
    local verdict=same samples
    samples=$(grep -o '[0-9]* samples' profiled.err | head -1)
    if [ "$2" != "$3" ]; then
        verdict="DIFFERS: status $2, then $3"
    elif ! cmp -s plain.out profiled.out; then
        verdict="DIFFERS: output"
    fi
    case $verdict in same) ;; *) differing=$((differing + 1)) ;; esac
    printf '%-28s %-8s status %-4s %6s ms  %s\n' "$1" "$verdict" "$2" "$4" "${samples:-}"
}

# serve NAME PORT CLIENT SERVER…: a server, plainly and profiled, under the load of the client, which
# prints what must be the same. The server is ended by SIGTERM.
serve() {
    local name=$1 port=$2 client=$3 mode pid status plain=0 profiled=0 begin seconds=0
    shift 3
    for mode in plain profiled; do
        begin=$(date +%s%N)
        if [ $mode = plain ]; then
            "$@" >server.out 2>plain.err </dev/null &
        else
            "$COZ_RS" run --force -o profile.coz -- "$@" >server.out 2>profiled.err </dev/null &
        fi
        pid=$!
        for _ in $(seq 100); do
            (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
            sleep 0.05
        done
        timeout 60 bash -c "$client" >$mode.out 2>client.err
        status=$?
        if [ $mode = plain ]; then plain=$status; else profiled=$status; fi
        kill -TERM $pid 2>/dev/null
        for _ in $(seq 100); do kill -0 $pid 2>/dev/null || break; sleep 0.05; done
        kill -KILL $pid 2>/dev/null && echo "killed" >>$mode.out
        wait $pid 2>/dev/null
        seconds=$((($(date +%s%N) - begin) / 1000000))
    done
    report "$name" "$plain" "$profiled" "$seconds"
}

wanted() {
    [ ${#names[@]} = 0 ] && return 0
    local name
    for name in "${names[@]}"; do [ "$name" = "$1" ] && return 0; done
    return 1
}
names=("$@")
head -c 12000000 /usr/bin/python3 >input 2>/dev/null || head -c 12000000 /dev/urandom >input
for _ in 1 2; do cat input input >input2 && mv input2 input; done

wanted zstd && have zstd && compare "zstd, threads" zstd -T4 -12 -q -c input
wanted pigz && have pigz && compare "pigz, threads" pigz -n -c input
wanted xz && have xz && compare "xz, threads" xz -T4 -0 -c input
wanted sha && have sha256sum && compare "sha256sum, one thread" sha256sum input
wanted sort && have sort && { seq 400000 | sort -R >numbers; compare "sort, threads" sort --parallel=4 -n numbers; }
wanted sqlite && have sqlite3 && compare "sqlite3, own load" sqlite3 :memory: \
    "create table t(a, b); with recursive n(x) as (select 1 union all select x+1 from n where x < 300000) insert into t select x, x * 7 % 1000 from n; create index i on t(b); select b, count(*), sum(a) from t group by b order by 2, 1 limit 20;"
wanted ripgrep && have rg && compare "ripgrep, Rust" rg -j4 --sort path -c 'include' /usr/include
wanted python && have python3 && compare "python3, processes" python3 -c '
from multiprocessing import Pool
def f(x): return sum(i * i for i in range(x))
if __name__ == "__main__":
    with Pool(3) as pool: print(pool.map(f, range(20000, 20060)))'
wanted make && have make gcc && { printf 'all: a b c\na b c:\n\t@echo "int main(){return 0;}" | gcc -x c - -o $@ && ./$@ && echo $@\n.PHONY: all a b c\n' >Makefile; compare "make and gcc, children" make -j1 -f Makefile; }
if wanted exceptions && have g++; then
    cat >exceptions.cc <<'CC'
#include <future>
#include <iostream>
#include <stdexcept>
#include <vector>
static int deep(int n) { if (n == 0) throw std::runtime_error("bottom"); return deep(n - 1) + 1; }
int main()
{
    std::vector<std::future<int>> all;
    for (int t = 0; t < 8; t++)
        all.push_back(std::async(std::launch::async, [t] {
            int caught = 0;
            for (int i = 0; i < 4000; i++)
                try { deep(i % 50 + t); } catch (const std::exception &) { caught++; }
            if (t == 7) throw std::out_of_range("seven");
            return caught;
        }));
    for (auto &one : all)
        try { std::cout << one.get() << '\n'; } catch (const std::exception &e) { std::cout << e.what() << '\n'; }
}
CC
    g++ -O2 -pthread -o exceptions exceptions.cc && compare "C++, exceptions" ./exceptions
fi
if wanted openmp && have gcc; then
    cat >openmp.c <<'C'
#include <stdio.h>
static double a[1 << 20];
int main(void)
{
    double sum = 0;
    for (int round = 0; round < 60; round++) {
#pragma omp parallel for schedule(dynamic, 4096)
        for (int i = 0; i < 1 << 20; i++) a[i] += (i % 7) * 0.5;
#pragma omp parallel
        {
#pragma omp critical
            sum += 1;
#pragma omp barrier
        }
    }
    for (int i = 0; i < 1 << 20; i++) sum += a[i];
    printf("%.1f\n", sum);
}
C
    gcc -O2 -fopenmp -o openmp openmp.c && OMP_NUM_THREADS=3 compare "OpenMP" ./openmp
fi
wanted jemalloc && [ -e /usr/lib/x86_64-linux-gnu/libjemalloc.so.2 ] && have pigz &&
    LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 compare "pigz with jemalloc" pigz -n -c input
if wanted tokio && have cargo; then
    mkdir -p tokio/src
    cat >tokio/Cargo.toml <<'TOML'
[package]
name = "tokio-server"
version = "0.0.0"
edition = "2024"
[workspace]
[dependencies]
tokio = { version = "1", features = ["rt-multi-thread", "net", "io-util", "sync", "macros", "time"] }
[profile.release]
debug = true
TOML
    # Each line is hashed on another task; answers come back in order, through a channel.
    cat >tokio/src/main.rs <<'RUST'
use std::hash::{DefaultHasher, Hash, Hasher};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

async fn serve(stream: TcpStream) -> std::io::Result<()> {
    let (read, mut write) = stream.into_split();
    let (send, mut answers) = mpsc::channel(64);
    tokio::spawn(async move {
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let answer = tokio::spawn(async move {
                let mut hasher = DefaultHasher::new();
                for _ in 0..2000 {
                    line.hash(&mut hasher);
                }
                tokio::time::sleep(std::time::Duration::from_micros(50)).await;
                hasher.finish()
            });
            if send.send(answer).await.is_err() {
                break;
            }
        }
    });
    while let Some(answer) = answers.recv().await {
        let text = format!("{:016x}\n", answer.await.unwrap_or(0));
        write.write_all(text.as_bytes()).await?;
    }
    write.shutdown().await
}

#[tokio::main(worker_threads = 4)]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:21215").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream));
    }
}
RUST
    # One connection by bash; the second half of a line would be lost if a wait were interrupted.
    client='exec 3<>/dev/tcp/127.0.0.1/21215; seq 3000 >&3 & sleep 0.1; for i in $(seq 3000); do read -r -t 20 hash <&3 || break; echo "$hash"; done | sha256sum'
    if (cd tokio && cargo build --release -q 2>&1); then
        serve "tokio, a Rust server" 21215 "$client" tokio/target/release/tokio-server
    fi
fi
user=()
[ "$(id -u)" = 0 ] && user=(-u root)
wanted memcached && have memcached && serve "memcached" 21211 \
    'exec 3<>/dev/tcp/127.0.0.1/21211; for i in $(seq 60); do printf "set k$i 0 0 5\r\nabcde\r\nget k$i\r\n" >&3; read -r a <&3; read -r b <&3; read -r c <&3; read -r d <&3; echo "$a $b $c $d"; done | sort | uniq -c | wc -l' \
    memcached "${user[@]}" -l 127.0.0.1 -p 21211 -t 4
wanted redis && have redis-server redis-benchmark && serve "redis, its benchmark" 21212 \
    'redis-benchmark -p 21212 -q -n 20000 -c 20 -t set,get,lpush --csv | cut -d, -f1; redis-cli -p 21212 llen mylist' \
    redis-server --port 21212 --save '' --appendonly no --bind 127.0.0.1
if wanted nginx && have nginx; then
    mkdir -p html && head -c 5000 input >html/page
    cat >nginx.conf <<CONF
daemon off; worker_processes 2; error_log stderr; pid $work/nginx.pid; user root;
events { worker_connections 64; }
http { access_log off; server { listen 127.0.0.1:21213; root $work/html; } }
CONF
    client='curl -s http://127.0.0.1:21213/page | sha256sum'
    have wrk && client="wrk -t2 -c20 -d2 http://127.0.0.1:21213/page >/dev/null; $client"
    have curl || client='exec 3<>/dev/tcp/127.0.0.1/21213; printf "GET /page HTTP/1.0\r\n\r\n" >&3; sed 1,/^.$/d <&3 | sha256sum'
    serve "nginx, forked workers" 21213 "$client" "$(command -v nginx)" -c "$work/nginx.conf"
fi
if wanted postgres && [ "$(id -u)" = 0 ] && postgres=$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | head -1); then
    bin=$(dirname "$postgres")
    chmod 755 "$work" && mkdir db && chown postgres db
    if setpriv --reuid=postgres --clear-groups "$bin/initdb" -D "$work/db" >/dev/null 2>&1; then
        serve "postgres, forked backends" 21214 \
            "psql -h 127.0.0.1 -p 21214 -U postgres -qtc 'select sum(x), count(distinct x % 97) from generate_series(1, 400000) x'" \
            setpriv --reuid=postgres --clear-groups env HOME="$work/db" "$bin/postgres" -D "$work/db" -p 21214 -h 127.0.0.1 -k "$work/db"
    fi
fi
echo "$differing differ"
exit "$differing"
