#!/bin/sh
# Installs what the bench compares with and by, from Debian's packages: HAProxy,
# nginx with its stream module, wrk, h2load, strace, and for the DNS dnsperf and
# gdnsd. Does nothing when all are there. Their services are not started.
set -eu

missing=
for tool in haproxy nginx wrk h2load strace dnsperf gdnsd; do
	package=$tool
	[ "$tool" = h2load ] && package=nghttp2-client
	command -v "$tool" >/dev/null 2>&1 || [ -x "/usr/sbin/$tool" ] || missing="$missing $package"
done
nginx=$(PATH=$PATH:/usr/sbin command -v nginx || :)
if [ -n "$nginx" ] && [ ! -e /usr/lib/nginx/modules/ngx_stream_module.so ]; then
	"$nginx" -V 2>&1 | grep -q -e '--with-stream\( \|$\)' || missing="$missing libnginx-mod-stream"
elif [ -z "$nginx" ]; then
	missing="$missing libnginx-mod-stream"
fi
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "bench: not installed:$missing (as root: apt-get install$missing)" >&2
	exit 1
fi

# A package that is installed starts its service unless this file says no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
apt-get update -q
# shellcheck disable=SC2086
DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
