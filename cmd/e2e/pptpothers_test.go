package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// pppFrame returns text as pppd would send it over a terminal (RFC 1662), in printf(1)
// syntax.
func pppFrame(text string) string {
	sum := uint16(0xffff)
	for _, b := range []byte(text) {
		sum ^= uint16(b)
		for range 8 {
			sum = sum>>1 ^ sum&1*0x8408
		}
	}
	frame := `\176`
	for _, b := range append([]byte(text), ^byte(sum), ^byte(sum>>8)) {
		if b < ' ' || b == 0x7d || b == 0x7e {
			frame += `\175`
			b ^= ' '
		}
		frame += fmt.Sprintf(`\%03o`, b)
	}
	return frame + `\176`
}

// Debian's client calls Debian's server. A script that prints its location replaces pppd,
// which needs a kernel with PPP.
func TestPPTPOfDebianPassesAFarm(t *testing.T) {
	t.Parallel()
	needs(t, "pptpd", "pptp")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	for _, b := range s.Backends {
		dir := t.TempDir()
		script := filepath.Join(dir, "ppp")
		text := "#!/bin/sh\nstty raw -echo\nwhile printf '" + pppFrame(b.Name+" is here") + "'; do sleep 0.1; done\n"
		if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		b.Serve("pptpd", "--fg", "--noipparam", "--conf", file(t, "localip 10.9.0.1\nremoteip 10.9.0.2-9\n"), "--option", "/dev/null", "--ppp", script, "--listen", b.V4, "--pidfile", filepath.Join(dir, "pid"))
		listens(t, b, 1723)
	}
	for _, vip := range bothNATs(t, s, 1723, "pptp") {
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		theirs, ours := os.NewFile(uintptr(ends[0]), "pptp"), os.NewFile(uintptr(ends[1]), "test")
		call := exec.Command("pptp", vip, "--nolaunchpppd", "--nohostroute")
		call.Stdin, call.Stdout = theirs, theirs
		if err := s.Client.Start(call); err != nil {
			t.Fatal(err)
		}
		_ = theirs.Close()
		c, err := net.FileConn(ours)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		said := make([]byte, 100)
		n, err := c.Read(said)
		if !strings.Contains(string(said[:n]), " is here") {
			t.Errorf("%s: out of the tunnel comes %q, %v", vip, said[:n], err)
		}
		_, _ = c.Close(), ours.Close()
		_, _ = call.Process.Kill(), call.Wait()
	}
}
