package proxytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// role contains the role of a test program started by Play.
const role = "SLUICE_BENCH_ROLE"

// Main runs the tests or, in a program started by Play, its role.
func Main(m *testing.M, roles map[string]func() error) {
	as := os.Getenv(role)
	if as == "" {
		os.Exit(m.Run())
	}
	if err := roles[as](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Player is the test program in a role. It ends when its input is closed.
type Player struct {
	In  io.WriteCloser
	t   testing.TB
	out *bufio.Reader
	cmd *exec.Cmd
}

// PID returns its process ID.
func (p *Player) PID() int { return p.cmd.Process.Pid }

// Play starts the test program in a role, with environment variables.
func Play(t testing.TB, n *housetest.Namespace, as string, env ...string) *Player {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), role+"="+as), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &Player{In: in, t: t, out: bufio.NewReader(out), cmd: cmd}
}

// Await waits for a line of the player.
func (p *Player) Await() []byte {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("the test program in its role: %v", err)
	}
	return line
}

// Read reads a line of JSON.
func (p *Player) Read(into any) {
	p.t.Helper()
	if err := json.Unmarshal(p.Await(), into); err != nil {
		p.t.Fatal(err)
	}
}
