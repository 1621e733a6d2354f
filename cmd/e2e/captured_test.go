package e2e_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/shm"
)

// These tests act as a compromised engine, using its own descriptors.

// descriptorOf returns a duplicate of the descriptor a role inherited under that name.
func (a *appliance) descriptorOf(role, name string) *os.File {
	a.t.Helper()
	pid := a.pid(role)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		a.t.Fatal(err)
	}
	for variable := range strings.SplitSeq(string(b), "\x00") {
		list, ok := strings.CutPrefix(variable, inherit.Variable+"=")
		if !ok {
			continue
		}
		for entry := range strings.SplitSeq(list, ",") {
			if number, ok := strings.CutPrefix(entry, name+"="); ok {
				fd, _ := strconv.Atoi(number)
				return a.duplicate(pid, fd)
			}
		}
	}
	a.t.Fatalf("%s inherited no %s", role, name)
	return nil
}

func (a *appliance) duplicate(pid, fd int) *os.File {
	a.t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	defer unix.Close(process)
	own, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		a.t.Skipf("needs the right to take descriptors of another process: %v", err)
	}
	f := os.NewFile(uintptr(own), "captured")
	a.t.Cleanup(func() { _ = f.Close() })
	return f
}

// connection returns the socket as a connection.
func connection(t *testing.T, f *os.File) *net.UnixConn {
	t.Helper()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.UnixConn)
}

// askFor returns netd's response to a request for one socket. The engine reads from the same
// pair, so a response may be lost, and the request is repeated.
func askFor(t *testing.T, c *net.UnixConn, k marks.Kind) marks.Code {
	t.Helper()
	for number := range uint32(20) {
		if _, err := c.Write(marks.Request{Number: number, Kind: k, Count: 1}.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		buf := make([]byte, 100)
		n, fds, err := shm.ReceiveDescriptors(c, buf)
		if err != nil {
			continue
		}
		shm.CloseDescriptors(fds)
		if a, err := marks.ParseAnswer(buf[:n]); err == nil && a.Kind == k {
			return a.Code
		}
	}
	t.Fatalf("%v: no answer", k)
	return marks.Failed
}

func TestCapturedEngineGetsOnlySocketsThatFarmsNeed(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	root := identity{name: "root"}
	a := start(t, root, dataDir(t, root))
	gets := func(when string, want bool, kinds ...marks.Kind) {
		t.Helper()
		c := connection(t, a.descriptorOf("engine", "marks"))
		for _, k := range kinds {
			if code := askFor(t, c, k); (code == marks.Made) != want {
				t.Errorf("%s, %v: %v", when, k, code)
			}
		}
	}
	seven, eight, any := marks.Kind{Mark: 7}, marks.Kind{Mark: 8}, marks.Kind{Mark: marks.Transparent}
	gets("without a farm", false, seven, any)
	a.farm("shop", backend(t, "one"))
	gets("with a farm without a mark", false, seven, any)
	a.must("farm", "set", "shop", "mark=7")
	gets("with mark 7", true, seven)
	gets("with mark 7", false, eight, any)
	a.kill("netd")
	gets("after netd was killed", true, seven)
	gets("after netd was killed", false, eight, any)
	a.must("farm", "set", "shop", "mark=8")
	gets("with mark 8", true, eight)
	gets("with mark 8", false, seven, any)
	a.must("farm", "delete", "shop")
	gets("without the farm", false, seven, eight, any)
}
