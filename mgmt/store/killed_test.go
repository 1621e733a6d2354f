package store_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/store"
)

// childEnv holds the role and directory of the re-executed test binary.
const childEnv = "STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	role, dir, _ := strings.Cut(os.Getenv(childEnv), ":")
	switch role {
	case "":
		os.Exit(m.Run())
	case "writer":
		writeForever(dir)
	case "certificates":
		replaceForever(dir)
	case "restorer":
		restoreForever(dir)
	case "besides":
		besidesForever(dir)
	case "full":
		fillDisk(dir)
	}
}

// child re-executes this binary in a role.
func child(role, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role+":"+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// writeForever commits revision after revision and prints a line before and after each.
func writeForever(dir string) {
	s, err := store.Open(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, rev := s.Current()
	for n := int(rev.Number) + 1; ; n++ {
		fmt.Println("try", n)
		if _, err := s.Commit(killable(n), store.Meta{Author: "root", Comment: fmt.Sprint("change ", n)}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("done", n)
	}
}

// killable is numbered with so much text that a commit spans many pages.
func killable(n int) *farm.Config {
	c := numberedConfig(n)
	source := rand.New(rand.NewPCG(uint64(n), 1))
	var noise strings.Builder
	for noise.Len() < 4000 {
		fmt.Fprintf(&noise, "%x", source.Uint64())
	}
	for i := range c.Farms {
		c.Farms[i].HTTP.Error500 = noise.String()
	}
	return c
}

func TestNoKillLosesAnAcknowledgedRevision(t *testing.T) {
	dir := t.TempDir()
	const most, least, enough = 40, 30, 10 * time.Second
	start := time.Now()
	kills, revisions := 0, 0
	for kill := 0; kill < most && (kill < least || time.Since(start) < enough); kill++ {
		kills++
		tried, done := killAWriter(t, dir, kill)
		s, err := store.Open(dir)
		if err != nil {
			t.Fatalf("after kill %d: %v", kill, err)
		}
		cfg, rev := s.Current()
		n := int(rev.Number)
		if n < done || n > max(tried, revisions) || n < revisions {
			t.Fatalf("after kill %d: current is %d; %d was acknowledged, %d in progress, %d before", kill, n, done, tried, revisions)
		}
		if n > 0 && !reflect.DeepEqual(cfg, killable(n)) {
			t.Fatalf("after kill %d: revision %d has another content", kill, n)
		}
		contiguous(t, s, n)
		revisions = n
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills over %d revisions in %v", kills, revisions, time.Since(start))
	if revisions < kills/2 {
		t.Errorf("only %d revisions were written: the kills came too early to mean something", revisions)
	}
}

// killAWriter starts a writer, kills it at a random instant, and returns the last revision it
// started and the last one it finished.
func killAWriter(t *testing.T, dir string, kill int) (tried, done int) {
	t.Helper()
	return killAChild(t, "writer", dir, kill)
}

// killAChild is killAWriter for another role.
func killAChild(t *testing.T, role, dir string, kill int) (tried, done int) {
	t.Helper()
	cmd := child(role, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	start, commit := time.Now(), 20*time.Millisecond
	if kill%4 != 0 { // every fourth is killed while it starts
		for range 1 + rand.IntN(6) {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("the writer printed nothing: %v", err)
			}
			if strings.HasPrefix(line, "try") {
				tried = number(t, line)
			} else {
				done, commit = number(t, line), time.Since(start)
			}
			start = time.Now()
		}
	}
	time.Sleep(time.Duration(rand.Int64N(int64(2 * commit))))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed on purpose
	for line := range strings.Lines(string(rest)) {
		if !strings.HasSuffix(line, "\n") {
			break // cut off by the kill
		}
		if n := number(t, line); strings.HasPrefix(line, "done") {
			done = n
		} else {
			tried = n
		}
	}
	return tried, done
}

func number(t *testing.T, line string) int {
	t.Helper()
	_, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		t.Fatalf("the writer printed %q", line)
	}
	return n
}

// contiguous checks that the history has every revision up to n and that they are readable.
func contiguous(t *testing.T, s *store.Store, n int) {
	t.Helper()
	history, err := s.History(n+1, 0)
	if err != nil || (len(history) != n && n <= 1000) {
		t.Fatalf("history of %d revisions has %d: %v", n, len(history), err)
	}
	for i, rev := range history {
		if rev.Number != uint64(n-i) || rev.Comment != fmt.Sprint("change ", rev.Number) {
			t.Fatalf("place %d of the history is revision %d (%s)", i, rev.Number, rev.Comment)
		}
	}
	for _, at := range []int{n, n / 2, 1} {
		if at == 0 || n == 0 || n > 1000 {
			continue
		}
		if cfg, _, err := s.Get(uint64(at)); err != nil || !reflect.DeepEqual(cfg, killable(at)) {
			t.Fatalf("revision %d: %v", at, err)
		}
	}
}
