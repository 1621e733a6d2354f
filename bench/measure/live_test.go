package measure_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/measure"
)

func self(t *testing.T) []measure.Process {
	t.Helper()
	tree, err := measure.Tree(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return tree[:1]
}

func TestWorkShowsInTheProcessorTime(t *testing.T) {
	me := self(t)
	before, err := measure.Usage(me)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for n := 0; time.Since(begin) < 60*time.Millisecond; n++ {
		_ = strings.Repeat("x", n%100)
	}
	after, err := measure.Usage(me)
	if err != nil {
		t.Fatal(err)
	}
	// Other work on the machine takes a share, and other threads add theirs.
	if used := after.Sub(before).Sched; used < 3*time.Millisecond || used > 10*time.Second {
		t.Errorf("60 ms of work used %s", used)
	}
}

func TestTheTreeHoldsChildrenAndForgetsTheDead(t *testing.T) {
	cmd := exec.Command("sleep", "30")
	if err := cmd.Start(); err != nil {
		t.Skip("no sleep:", err)
	}
	tree, err := measure.Tree(os.Getpid())
	var child measure.Process
	for _, p := range tree {
		if p.PID == cmd.Process.Pid {
			child = p
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err != nil || child.PID == 0 {
		t.Fatalf("child %d is not in %v (%v)", cmd.Process.Pid, tree, err)
	}
	if child.Alive() {
		t.Error("a dead process counts as alive")
	}
	if _, err := measure.Usage([]measure.Process{child}); err == nil {
		t.Error("no error for the CPU time of a dead process")
	}
}

func TestAReusedNumberIsAnotherProcess(t *testing.T) {
	me := self(t)[0]
	me.Start++
	if me.Alive() {
		t.Error("another start time counts as the same process")
	}
	if _, err := measure.Usage([]measure.Process{me}); err == nil {
		t.Error("another start time was accepted")
	}
}

func TestForeignListenerIsDetected(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := uint16(l.Addr().(*net.TCPAddr).Port)
	if err := measure.OnlyListeners(port, self(t)); err != nil {
		t.Errorf("our own listener: %v", err)
	}
	if err := measure.OnlyListeners(port, nil); err == nil {
		t.Error("a listener that belongs to no contestant was accepted")
	}
	l.Close()
	if err := measure.OnlyListeners(port, self(t)); err == nil {
		t.Error("a port without a listener was accepted")
	}
}

func TestMemoryOfThisProcessIsPlausible(t *testing.T) {
	n, err := measure.Pss(self(t))
	if err != nil {
		t.Skip("smaps_rollup:", err)
	}
	if n < 1<<20 || n > 1<<32 {
		t.Errorf("%d bytes", n)
	}
}
