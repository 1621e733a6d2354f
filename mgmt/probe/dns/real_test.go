package dns_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	ours "github.com/sluicelb/sluice/mgmt/probe/dns"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestCheckWorksWithKnot(t *testing.T) {
	server, dir, port := probetest.Program(t, "knotd"), probetest.Dir(t), porttest.TCP(t).Port()
	zone := probetest.File(t, dir, "example.zone", "$ORIGIN example.\n@ 60 SOA ns mail 1 60 60 60 60\n@ 60 NS ns\nns 60 A 127.0.0.1\nwww 60 A 192.0.2.7\nwww 60 AAAA 2001:db8::7\n")
	config := probetest.File(t, dir, "knot.conf", fmt.Sprintf("server:\n  listen: 127.0.0.1@%d\n  rundir: %s\n  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\ndatabase:\n  storage: %s\nlog:\n  - target: stderr\n    any: warning\nzone:\n  - domain: example.\n    file: %s\n    journal-content: none\n", port, dir, dir, zone))
	run := probetest.Run(t, port, dir, server, "-c", config)
	in := func(within time.Duration, to probe.Target, args ...string) probetest.Asked {
		return probetest.In(t, within, "check_dns", ours.Check, to, append([]string{"-s", "HOST", "-p", "PORT"}, args...)...)
	}
	ask := func(args ...string) probetest.Asked { return in(probetest.Longest, probetest.At(port), args...) }
	enginetest.Eventually(t, "the zone to be served", func() bool { return ask("-H", "www.example").Err == nil })
	for _, more := range [][]string{nil, {"--tcp"}} {
		with := func(args ...string) probetest.Asked { return ask(append(args, more...)...) }
		with("-H", "www.example", "-a", "192.0.2.7", "-A").Healthy(t)
		with("-H", "www.example", "-q", "AAAA", "-a", "2001:db8::7").Healthy(t)
		with("-H", "www.example", "-a", "192.0.2.8").Down(t, "192.0.2.7")
		with("-H", "none.example").Down(t, "NXDOMAIN")
		with("-H", "none.example", "-n").Healthy(t)
		with("-H", "www.elsewhere").Down(t, "REFUSED") // not its zone
		run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
			return in(within, to, append(more, "-H", "www.example")...)
		})
	}
	run.Stop()
	ask("-H", "www.example").Down(t, "connection refused")
}
