package launch_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/launch"
	"github.com/sluicelb/sluice/bench/measure"
)

func shell(t *testing.T, script string, o launch.Options) *launch.Process {
	t.Helper()
	o.Path, o.Args, o.Talk = "/bin/sh", []string{"-c", script}, true
	p, err := launch.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

func line(t *testing.T, p *launch.Process) string {
	t.Helper()
	text, err := bufio.NewReader(p.Out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text)
}

func TestAProcessRunsOnItsCPUAndWeDoNot(t *testing.T) {
	cpus, err := launch.CPUs()
	if err != nil || len(cpus) == 0 {
		t.Fatal(cpus, err)
	}
	want := cpus[len(cpus)-1]
	p := shell(t, "grep Cpus_allowed_list /proc/self/status; read x", launch.Options{CPU: want})
	if got := line(t, p); !strings.HasSuffix(got, "\t"+strconv.Itoa(want)) {
		t.Errorf("%q instead of CPU %d", got, want)
	}
	after, err := launch.CPUs()
	if err != nil || len(after) != len(cpus) {
		t.Errorf("our own CPUs are %v now, they were %v", after, cpus)
	}
}

func TestStopEndsDescendantsOfADeadParentToo(t *testing.T) {
	// The grandchild ignores SIGTERM, and its parent has ended by then.
	p := shell(t, `sh -c 'trap "" TERM; echo $$; exec sleep 60' & read x; exit 0`, launch.Options{CPU: -1})
	pid, err := strconv.Atoi(line(t, p))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := p.Tree()
	if err != nil {
		t.Fatal(err)
	}
	var grandchild measure.Process
	for _, m := range tree {
		if m.PID == pid {
			grandchild = m
		}
	}
	if grandchild.PID == 0 {
		t.Fatalf("%d is not in %v", pid, tree)
	}
	fmt.Fprintln(p.In)
	<-p.Done()
	if err := p.Stop(); err == nil {
		t.Error("no error for a process that ignored SIGTERM and was killed")
	}
	for range 100 {
		if !grandchild.Alive() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the grandchild lives on")
}

func TestStopTwiceIsFine(t *testing.T) {
	p := shell(t, "read x", launch.Options{CPU: -1})
	for range 2 {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func TestOutputGoesToTheLog(t *testing.T) {
	log, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p, err := launch.Start(launch.Options{Path: "/bin/sh", Args: []string{"-c", "echo out; echo err >&2"}, CPU: -1, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	text, err := os.ReadFile(log.Name())
	if err != nil || string(text) != "out\nerr\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	if _, err := launch.Start(launch.Options{Path: "/no/such/program", CPU: -1}); err == nil {
		t.Error("it started")
	}
}
