package radius_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	ours "github.com/sluicelb/sluice/mgmt/probe/radius"
)

// With this configuration FreeRADIUS drops every request without a valid
// Message-Authenticator.
func TestCheckWorksWithFreeRADIUS(t *testing.T) {
	server, dir, port := probetest.Program(t, "freeradius", "/usr/sbin/radiusd"), probetest.Dir(t), porttest.UDP(t).Port()
	probetest.File(t, dir, "dictionary", "$INCLUDE /usr/share/freeradius/dictionary\n")
	probetest.File(t, dir, "radiusd.conf", fmt.Sprintf(`libdir = /usr/lib/freeradius
run_dir = %[1]s
db_dir = %[1]s
logdir = %[1]s
cleanup_delay = 0
log {
	destination = stdout
}
security {
	allow_vulnerable_openssl = yes
	status_server = yes
}
client house {
	ipaddr = 127.0.0.1
	secret = shared
	require_message_authenticator = yes
}
modules {
	pap {
	}
}
server default {
	listen {
		type = auth
		ipaddr = 127.0.0.1
		port = %[2]d
	}
	authorize {
		if (&User-Name == "ann") {
			update control {
				&Cleartext-Password := "right"
			}
		}
		pap
	}
	authenticate {
		Auth-Type PAP {
			pap
		}
	}
}
`, dir, port))
	run := probetest.Run(t, 0, dir, server, "-f", "-d", dir, "-D", "/usr/share/freeradius", "-l", "stdout")
	of := func(within time.Duration, to probe.Target, args ...string) probetest.Asked {
		return probetest.In(t, within, "check_radius", ours.Check, to, append([]string{"-P", "PORT"}, args...)...)
	}
	in := func(within time.Duration, args ...string) probetest.Asked {
		return of(within, probetest.At(port), args...)
	}
	ask := func(args ...string) probetest.Asked { return in(5*time.Second, args...) }
	right := []string{"-u", "ann", "-p", "right", "--secret", "shared"}
	enginetest.Eventually(t, "FreeRADIUS to answer", func() bool { return in(time.Second, right...).Err == nil })
	ask("-u", "ann", "-p", "wrong", "--secret", "shared").Down(t, "the user was rejected")
	ask("-u", "ann", "-p", "wrong", "--secret", "shared", "--accept-reject").Healthy(t)
	ask("-u", "bo", "-p", "right", "--secret", "shared").Down(t, "the user was rejected")
	in(time.Second, "-u", "ann", "-p", "right", "--secret", "other").Down(t, "no") // it does not answer with a wrong secret
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return of(within, to, right...)
	})
	run.Stop()
	ask(right...).Down(t, "connection refused")
}
