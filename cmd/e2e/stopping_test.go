package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"time"
)

// refuses reports whether a new client is refused, rather than accepted and left without a
// response.
func refuses(addr string) bool {
	c, err := net.DialTimeout("tcp4", addr, time.Second)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// Requests in progress may finish; new clients are refused at once.
func TestStopRefusesNewClientsAndFinishesRequests(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		for _, whole := range []bool{false, true} {
			a := start(t, who, dataDir(t, who))
			back := newSlow(t, "one")
			addrs := []string{hostOf(a.farm("shop", back.addr)), fmt.Sprintf("127.0.0.1:%d", freePort(t))}
			host, port, _ := net.SplitHostPort(addrs[1])
			a.must("farm", "create", "relay", "--profile", "l4xnat", "vip="+host, "vport="+port, "datapath=userspace", "grace=10")
			host, port, _ = net.SplitHostPort(back.addr)
			a.must("backend", "create", "relay", "ip="+host, "port="+port)
			var outcomes []func() ([]string, []error)
			for _, addr := range addrs {
				outcomes = append(outcomes, ask(addr, 1))
				<-back.started
			}
			if whole {
				if err := syscall.Kill(a.cmd.Process.Pid, syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			} else {
				a.must("farm", "stop", "shop")
				a.must("farm", "stop", "relay")
			}
			for _, addr := range addrs {
				within(t, 5*time.Second, "new clients are refused", func() error {
					if !refuses(addr) {
						return fmt.Errorf("a client of %s is not", addr)
					}
					return nil
				})
			}
			if now := back.now.Load(); now != 2 {
				t.Errorf("whole %v: by the time new clients are refused %d of 2 requests are under way", whole, now)
			}
			back.end()
			for _, outcome := range outcomes {
				if bodies, failures := outcome(); len(failures) > 0 || bodies[0] != "begun and ended" {
					t.Errorf("whole %v: %q %v", whole, bodies, failures)
				}
			}
		}
	})
}
