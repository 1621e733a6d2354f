package e2e_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/acme/acmetest"
)

// port80 is a loopback address whose port 80 is free and may be listened on.
func port80(t *testing.T) netip.AddrPort {
	t.Helper()
	for i := range 20 {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 80, byte(time.Now().UnixNano()), byte(i + 2)}), 80)
		ln, err := net.Listen("tcp", at.String())
		if err == nil {
			_ = ln.Close()
			return at
		}
	}
	t.Skip("not shown: port 80 of loopback cannot be listened on")
	return netip.AddrPort{}
}

// closed waits until nobody listens at an address.
func closed(t *testing.T, at netip.AddrPort) {
	t.Helper()
	within(t, 10*time.Second, at.String()+" is closed", func() error {
		c, err := net.DialTimeout("tcp", at.String(), time.Second)
		if err != nil {
			return nil
		}
		_ = c.Close()
		return fmt.Errorf("somebody listens")
	})
}

func TestACertificateIsOrderedForAnAddressWithoutAFarm(t *testing.T) {
	at := port80(t)
	ca := acmetest.NewAt(t, at, "0", "www.sluice.test")
	a := start(t, asOne(), dataDir(t, asOne()))
	a.must("certificate", "ca", "upload", "private", readable(t, string(ca.RootPEM())))
	a.must("acme", "config", "email=ops@sluice.test", "directory="+ca.Directory(), "ca=private")
	a.must("acme", "order", "www.sluice.test", "--vip", at.Addr().String())
	closed(t, at)
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

func TestAnOrderThatDiesWithMgmtLeavesNoListener(t *testing.T) {
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
		t.Fatalf("nobody listens while the order is under way: %v", err)
	}
	_ = c.Close()
	a.kill("mgmt")
	<-order
	closed(t, at)
	if out := a.must("farm", "list"); strings.Contains(out, "acme") {
		t.Errorf("the farms are\n%s", out)
	}
}
