package guardian

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/probe"
)

func TestStallsAreRecorded(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var s stalls
	for _, ms := range []int{0, 50, 100, 3100, 3150} { // it did not run from 100 to 3100
		s.note(at(ms))
	}
	for _, c := range []struct {
		from, to int
		want     bool
	}{{0, 90, false}, {0, 200, true}, {200, 3000, true}, {3000, 3140, true}, {3110, 3160, false}, {3160, 3600, true}} {
		if got := s.within(at(c.from), at(c.to)); got != c.want {
			t.Errorf("from %d to %d: got %t, want %t", c.from, c.to, got, c.want)
		}
	}
	if s = (stalls{}); s.within(at(0), at(100)) {
		t.Error("without a stall there is one")
	}
}

// greeting is a probe that expects one byte.
type greeting struct{}

func (greeting) Run(ctx context.Context, n probe.Network, to probe.Target, _ probe.Say) error {
	c, err := n.DialContext(ctx, "tcp", netip.AddrPortFrom(to.Addr, to.Port).String())
	if err != nil {
		return err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	_, err = c.Read(make([]byte, 1))
	return err
}

const stopped = "SLUICE_TEST_STOPPED"

// TestNoStoppedProcessFindsABackendDown stops a guardian again and again while it probes a
// server that responds within 300 ms.
func TestNoStoppedProcessFindsABackendDown(t *testing.T) {
	if address := os.Getenv(stopped); address != "" {
		guard(t, netip.MustParseAddrPort(address))
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go greet(l)
	child := exec.Command(os.Args[0], "-test.run=^TestNoStoppedProcessFindsABackendDown$")
	child.Env = append(os.Environ(), stopped+"="+l.Addr().String())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "asking") {
		t.Fatal(line, err)
	}
	for range 4 {
		time.Sleep(700 * time.Millisecond)
		_ = child.Process.Signal(syscall.SIGSTOP)
		time.Sleep(1300 * time.Millisecond)
		_ = child.Process.Signal(syscall.SIGCONT)
	}
	time.Sleep(time.Second)
	_ = child.Process.Kill()
	if rest, _ := io.ReadAll(lines); strings.Contains(string(rest), "backend is down") {
		t.Errorf("a server that responds is down:\n%s", rest)
	}
}

// guard probes a server until the process is killed.
func guard(t *testing.T, server netip.AddrPort) {
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	g := New(t.Context(), Options{Table: table, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)),
		Network: func(Route) probe.Network { return &probe.Machine{} }, Parse: func(string) (probe.Probe, error) { return greeting{}, nil }})
	g.options.Log.Info("asking")
	check := farm.Check{Name: "alive", Command: "ask", Interval: 1, Timeout: 1, Fall: 1}
	backend := farm.Backend{ID: 1, Addr: server.Addr(), Port: server.Port()}
	g.Set(&farm.Config{Checks: []farm.Check{check}, Farms: []farm.Farm{{Name: "shop", Profile: farm.ProfileHTTP,
		HTTP: &farm.HTTP{Services: []farm.Service{{Name: "web", Check: "alive", Backends: []farm.Backend{backend}}}}}}})
	select {}
}

func greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			time.Sleep(300 * time.Millisecond)
			_, _ = c.Write([]byte("x"))
		}()
	}
}
