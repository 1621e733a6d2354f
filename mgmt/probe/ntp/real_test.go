package ntp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/ntp"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
)

func TestCheckWorksWithChrony(t *testing.T) {
	server, dir, port := probetest.Program(t, "chronyd"), probetest.Dir(t), porttest.UDP(t).Port()
	start := func(port uint16, more string) *probetest.Running {
		config := fmt.Sprintf("port %d\nbindaddress 127.0.0.1\nallow 127.0.0.1\ncmdport 0\nbindcmdaddress /\npidfile %s/pid%d\n%s", port, dir, port, more)
		return probetest.Run(t, 0, dir, server, "-d", "-x", "-U", "-f", probetest.File(t, dir, fmt.Sprintf("conf%d", port), config))
	}
	run := start(port, "local stratum 3\n")
	ask := func(port uint16, args ...string) probetest.Asked {
		return probetest.In(t, 9e8, "check_ntp_time", ntp.Check, probetest.At(port), append([]string{"-p", "PORT"}, args...)...)
	}
	enginetest.Eventually(t, "chronyd to answer", func() bool { return ask(port, "-w", "1", "-c", "1").Err == nil })
	ask(port, "--max-stratum", "2").Down(t, "the server is of stratum 3")
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_ntp_time", ntp.Check, to, "-p", "PORT")
	})
	alone := porttest.UDP(t).Port()
	start(alone, "")
	enginetest.Eventually(t, "the other to answer", func() bool { a := ask(alone); return a.Said != "" })
	ask(alone).Down(t, "the server's time is of no use")
}
