package tcp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/tcp"
)

func TestRealFTPServerGreets(t *testing.T) {
	server, dir, port := probetest.Program(t, "vsftpd"), probetest.Dir(t), porttest.TCP(t).Port()
	config := probetest.File(t, dir, "vsftpd.conf", fmt.Sprintf("listen=YES\nlisten_address=127.0.0.1\nlisten_port=%d\nrun_as_launching_user=YES\nbackground=NO\nanonymous_enable=YES\nseccomp_sandbox=NO\nxferlog_enable=NO\n", port))
	run := probetest.Run(t, port, dir, server, config)
	probetest.Check(t, "check_ftp", tcp.Services()["check_ftp"], probetest.At(port), "-H", "HOST", "-p", "PORT", "-t", "5").Healthy(t)
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked {
		return probetest.In(t, within, "check_ftp", tcp.Services()["check_ftp"], to, "-H", "HOST", "-p", "PORT")
	})
}

func TestCheckWorksWithDovecot(t *testing.T) {
	server, dir := probetest.Program(t, "dovecot"), probetest.Dir(t)
	imap, pop := porttest.TCP(t).Port(), porttest.TCP(t).Port()
	config := probetest.File(t, dir, "dovecot.conf", fmt.Sprintf(`base_dir = %[1]s/run
state_dir = %[1]s/state
default_internal_user = %[4]s
default_login_user = %[4]s
default_internal_group = %[5]s
protocols = imap pop3
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain login
log_path = /dev/stderr
mail_location = maildir:%[1]s/mail
mail_uid = %[4]s
mail_gid = %[5]s
first_valid_uid = 1
passdb {
  driver = static
  args = password=s3cret
}
userdb {
  driver = static
  args = home=%[1]s/mail
}
service anvil {
  chroot =
}
service imap-login {
  chroot =
  inet_listener imap {
    port = %[2]d
  }
  inet_listener imaps {
    port = 0
  }
}
service pop3-login {
  chroot =
  inet_listener pop3 {
    port = %[3]d
  }
  inet_listener pop3s {
    port = 0
  }
}
`, dir, imap, pop, "nobody", "nogroup"))
	run := probetest.Run(t, imap, dir, server, "-F", "-c", config)
	for name, port := range map[string]uint16{"check_imap": imap, "check_pop": pop} {
		ask := func(within time.Duration, to probe.Target) probetest.Asked {
			return probetest.In(t, within, name, tcp.Services()[name], to, "-H", "HOST", "-p", "PORT")
		}
		enginetest.Eventually(t, name+" to be greeted", func() bool { return ask(probetest.Longest, probetest.At(port)).Err == nil })
		run.Suffers(t, probetest.At(port), ask)
	}
	// Dovecot answers a wrong password after two to three seconds.
	logs := func(password string) probetest.Asked {
		return probetest.Check(t, "check_imap", tcp.Services()["check_imap"], probetest.At(imap), "-p", "PORT", "-E", "-s", `a1 LOGIN ann `+password+`\r\n`, "-e", "* OK", "-e", "a1 OK", "-A", "-t", "10")
	}
	logs("s3cret").Healthy(t)
	logs("wrong").Down(t, `wanted "* OK" and "a1 OK"`) // the answer is NO
	run.Stop()
	probetest.Check(t, "check_pop", tcp.Services()["check_pop"], probetest.At(pop), "-p", "PORT").Down(t, "connection refused")
}
