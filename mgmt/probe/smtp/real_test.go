package smtp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/smtp"
)

func TestRealMailServerIsAsked(t *testing.T) {
	server, dir, port := probetest.Program(t, "aiosmtpd"), probetest.Dir(t), porttest.TCP(t).Port()
	run := probetest.Run(t, port, dir, server, "-n", "-c", "aiosmtpd.handlers.Sink", "-l", fmt.Sprintf("127.0.0.1:%d", port))
	in := func(within time.Duration, args ...string) probetest.Asked {
		return probetest.In(t, within, "check_smtp", smtp.Check, probetest.At(port), append([]string{"-H", "HOST", "-p", "PORT"}, args...)...)
	}
	in(probetest.Longest, "-C", "NOOP", "-R", "250").Healthy(t)
	in(probetest.Longest, "-C", "NONSENSE", "-R", "250").Down(t, "500")
	in(probetest.Longest, "-S").Down(t, "STARTTLS")
	in(probetest.Longest, "-A", "PLAIN", "-U", "ann", "-P", "wrong").Down(t, "AUTH")
	run.Hangs(t, func(within time.Duration) probetest.Asked { return in(within) })
	run.Stop()
	in(probetest.Longest).Down(t, "connection refused")
}
