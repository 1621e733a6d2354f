package smtp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/smtp"
)

func TestRealMailServerIsAsked(t *testing.T) {
	server, dir, port := probetest.Program(t, "aiosmtpd"), probetest.Dir(t), porttest.TCP(t).Port()
	run := probetest.Run(t, port, dir, server, "-n", "-c", "aiosmtpd.handlers.Sink", "-l", fmt.Sprintf("127.0.0.1:%d", port))
	from := func(within time.Duration, to probe.Target, args ...string) probetest.Asked {
		return probetest.In(t, within, "check_smtp", smtp.Check, to, append([]string{"-H", "HOST", "-p", "PORT"}, args...)...)
	}
	in := func(within time.Duration, args ...string) probetest.Asked {
		return from(within, probetest.At(port), args...)
	}
	in(probetest.Longest, "-C", "NOOP", "-R", "250").Healthy(t)
	in(probetest.Longest, "-C", "NONSENSE", "-R", "250").Down(t, "500")
	in(probetest.Longest, "-S").Down(t, "STARTTLS")
	in(probetest.Longest, "-A", "PLAIN", "-U", "ann", "-P", "wrong").Down(t, "AUTH")
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked { return from(within, to) })
	run.Stop()
	in(probetest.Longest).Down(t, "connection refused")
}
