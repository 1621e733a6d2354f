package smtp_test

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/smtp"
)

func TestCheckWorksWithAiosmtpd(t *testing.T) {
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

// postfix is the configuration of Postfix: its own folders, no mailbox, a certificate.
const postfix = `compatibility_level = 3.6
queue_directory = %[1]s/queue
data_directory = %[1]s/data
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
myhostname = mail.example
mydestination = mail.example
maillog_file = /dev/stdout
smtpd_tls_security_level = may
smtpd_tls_cert_file = %[2]s
smtpd_tls_key_file = %[3]s
smtpd_error_sleep_time = 0
`

// postfixParts are the programs that take part in a conversation.
const postfixParts = `127.0.0.1:%d inet n - n - - smtpd
postlog unix-dgram n - n - 1 postlogd
anvil unix - - n - 1 anvil
rewrite unix - - n - - trivial-rewrite
proxymap unix - - n - - proxymap
tlsmgr unix - - n 1000? 1 tlsmgr
`

func TestCheckWorksWithPostfix(t *testing.T) {
	probetest.NeedsRoot(t, "Postfix")
	master, port := probetest.Program(t, "master", "/usr/lib/postfix/sbin/master"), porttest.TCP(t).Port()
	dir := probetest.Dir(t)
	leaf := certstest.NewAuthority(t, "house", time.Now()).Issue("mail.example")
	cert, key := probetest.File(t, dir, "cert.pem", leaf.CertPEM()), probetest.File(t, dir, "key.pem", leaf.KeyPEM())
	probetest.File(t, dir, "main.cf", fmt.Sprintf(postfix, dir, cert, key))
	probetest.File(t, dir, "master.cf", fmt.Sprintf(postfixParts, port))
	postfixOwns(t, dir)
	run := probetest.RunAsRoot(t, port, dir, master, "-c", dir, "-d")
	from := func(within time.Duration, to probe.Target, args ...string) probetest.Asked {
		return probetest.In(t, within, "check_smtp", smtp.Check, to, append([]string{"-H", "HOST", "-p", "PORT"}, args...)...)
	}
	ask := func(args ...string) probetest.Asked { return from(probetest.Longest, probetest.At(port), args...) }
	ask().Healthy(t)
	ask("-S").Healthy(t)
	ask("-S", "--verify").Down(t, "certificate")
	ask("-C", "VRFY bo@mail.example", "-R", "550").Healthy(t) // there are no mailboxes here
	ask("-C", "NONSENSE", "-R", "250").Down(t, "500")
	ask("-A", "PLAIN", "-U", "ann", "-P", "wrong").Down(t, "AUTH")
	run.Suffers(t, probetest.At(port), func(within time.Duration, to probe.Target) probetest.Asked { return from(within, to, "-S") })
	run.Stop()
	enginetest.Eventually(t, "its programs to end with it", func() bool {
		err := ask().Err
		return err != nil && strings.Contains(err.Error(), "connection refused")
	})
}

// postfixOwns makes the folders that the installation of Postfix makes.
func postfixOwns(t *testing.T, dir string) {
	t.Helper()
	owner, err := user.Lookup("postfix")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.Atoi(owner.Uid) // a number on this system
	if err := os.Chown(dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		name  string
		owner int
	}{{"queue", 0}, {"data", uid}, {"queue/pid", 0}, {"queue/private", uid}, {"queue/public", uid}} {
		path := filepath.Join(dir, one.name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, one.owner, 0); err != nil {
			t.Fatal(err)
		}
	}
}
