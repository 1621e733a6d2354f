package e2e_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/acme/acmetest"
)

// port80 returns a loopback address whose port 80 is free.
func port80(t *testing.T) netip.AddrPort {
	t.Helper()
	for i := range 20 {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 80, byte(time.Now().UnixNano()), byte(i + 2)}), 80)
		if porttest.Hold(t, at) {
			return at
		}
	}
	t.Skip("not shown: port 80 of loopback cannot be listened on")
	return netip.AddrPort{}
}

// waitClosed waits until nothing listens at an address.
func waitClosed(t *testing.T, at netip.AddrPort) {
	t.Helper()
	within(t, 10*time.Second, at.String()+" is closed", func() error {
		c, err := net.DialTimeout("tcp", at.String(), time.Second)
		if err != nil {
			return nil
		}
		_ = c.Close()
		return fmt.Errorf("the port is in use")
	})
}

func TestACertificateIsOrderedForAnAddressWithoutAFarm(t *testing.T) {
	at := port80(t)
	ca := acmetest.NewAt(t, at, "0", "www.sluice.test")
	a := start(t, asOne(), dataDir(t, asOne()))
	a.must("certificate", "ca", "upload", "private", readable(t, string(ca.RootPEM())))
	a.must("acme", "config", "email=ops@sluice.test", "directory="+ca.Directory(), "ca=private")
	a.must("acme", "order", "www.sluice.test", "--vip", at.Addr().String())
	waitClosed(t, at)
	port := freePort(t)
	a.must("farm", "create", "secure", "vip=127.0.0.1", fmt.Sprintf("vport=%d", port), "listener=https", "certificates=www.sluice.test.pem")
	serial := func() string {
		t.Helper()
		c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{ServerName: "www.sluice.test", InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
	}
	first := serial()
	if out, code := a.run("acme", "renew", "www.sluice.test.pem"); code != 1 || !strings.Contains(out, "not due") {
		t.Errorf("a renewal that is not due: %d %s", code, out)
	}
	a.must("acme", "renew", "www.sluice.test.pem", "--force")
	if serial() == first {
		t.Error("the farm serves the old certificate after the renewal")
	}
	if out := a.must("acme", "list"); !strings.Contains(out, "www.sluice.test.pem") {
		t.Errorf("the list is\n%s", out)
	}
}

func TestOrderAbortedByACrashLeavesNoListener(t *testing.T) {
	at := port80(t)
	ca := acmetest.NewAt(t, at, "0", "www.sluice.test")
	a := start(t, asOne(), dataDir(t, asOne()))
	a.must("certificate", "ca", "upload", "private", readable(t, string(ca.RootPEM())))
	a.must("acme", "config", "email=ops@sluice.test", "directory="+ca.Directory(), "ca=private")
	ca.Hold(true)
	order := make(chan string)
	go func() {
		out, _ := a.run("acme", "order", "www.sluice.test", "--vip", at.Addr().String())
		order <- out
	}()
	within(t, 10*time.Second, "the authority is told to ask", func() error {
		if ca.Asked("chalZ") == 0 {
			return errors.New("it was not")
		}
		return nil
	})
	c, err := net.DialTimeout("tcp", at.String(), time.Second)
	if err != nil {
		t.Fatalf("no listener during the order: %v", err)
	}
	_ = c.Close()
	a.kill("mgmt")
	<-order
	waitClosed(t, at)
	if out := a.must("farm", "list"); strings.Contains(out, "acme") {
		t.Errorf("the farms are\n%s", out)
	}
}

// recordServer creates and deletes records as a hook requests: one file each in a folder.
// held returns the last list of open records from the hook.
func recordServer(t *testing.T, folder string) (port string, held func() string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var last atomic.Value
	last.Store("")
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			if words := strings.Fields(line); len(words) > 2 {
				path := filepath.Join(folder, words[1])
				if words[0] == "present" {
					err = os.WriteFile(path, nil, 0o644)
				} else {
					err = os.Remove(path)
				}
				last.Store(strings.Join(words[2:], " "))
				if err == nil {
					_, _ = io.WriteString(c, "ok\n")
				}
			}
			_ = c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, func() string { return last.Load().(string) }
}

// Ordering a wildcard certificate end to end: a shell script in the data directory creates
// the records, an authority verifies them, and a farm serves any name of the domain.
func TestAWildcardIsOrderedByAHookOfTheOperator(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		ca := acmetest.New(t, 80, "0")
		data := dataDir(t, who)
		a := start(t, who, data)
		records := dataDir(t, who) + "-records"
		if err := os.Mkdir(records, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(records, 0o777); err != nil { // mgmt runs as another user
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(records) })
		ca.Names().Records(records)
		a.must("certificate", "ca", "upload", "private", readable(t, string(ca.RootPEM())))
		a.must("acme", "config", "email=ops@sluice.test", "directory="+ca.Directory(), "ca=private", "dns_wait=20", "dns_servers="+ca.Names().Addr())
		if out, code := a.run("acme", "order", "*.sluice.test", "--dns"); code != 1 || !strings.Contains(out, "no hook is set") {
			t.Errorf("without a hook: %d %s", code, out)
		}
		if out, code := a.run("acme", "config", "hook=dns.sh"); code != 1 || !strings.Contains(out, "hooks/dns.sh") || !strings.Contains(out, "does not exist") {
			t.Errorf("a hook that is not there: %d %s", code, out)
		}
		at, held := recordServer(t, records)
		script := "#!/bin/bash\nfds=$(readlink /proc/$$/fd/*)\nexec 3<>/dev/tcp/127.0.0.1/" + at + "\necho $1 $3=$4 $fds >&3\nread -u 3 answer && [ $answer = ok ]\n"
		hook := filepath.Join(data, "hooks", "dns.sh")
		if err := os.WriteFile(hook, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if who.credential != nil {
			if err := os.Chown(hook, int(who.credential.Uid), -1); err != nil {
				t.Fatal(err)
			}
		}
		a.must("acme", "config", "hook=dns.sh")
		a.must("acme", "order", "*.sluice.test", "sluice.test", "--dns")
		if left, err := os.ReadDir(records); err != nil || len(left) > 1 {
			t.Errorf("records stay: %v %v", left, err)
		}
		if fds := held(); fds == "" || strings.Contains(fds, "memfd:") || strings.Contains(fds, "socket:") || strings.Contains(fds, "store.db") {
			t.Errorf("the hook inherits descriptors of mgmt: %s", fds)
		}
		port := freePort(t)
		a.must("farm", "create", "secure", "vip=127.0.0.1", fmt.Sprintf("vport=%d", port), "listener=https", "certificates=*.sluice.test.pem")
		c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{ServerName: "any.sluice.test", InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.ConnectionState().PeerCertificates[0].VerifyHostname("any.sluice.test"); err != nil {
			t.Error(err)
		}
		a.must("acme", "renew", "*.sluice.test.pem", "--force")
		if out := a.must("acme", "list"); !strings.Contains(out, "dns-01") {
			t.Errorf("the list is\n%s", out)
		}
	})
}
