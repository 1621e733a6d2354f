package cli_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli"
)

// screen collects output and ends the watch after some of it.
type screen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	looks int
	end   func()
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks += strings.Count(string(b), "REQ/S")
	if s.looks == 2 {
		s.end()
	}
	return s.text.Write(b)
}

func TestWatchShowsRatesUntilInterrupted(t *testing.T) {
	a := start(t)
	a.shop()
	for command, want := range map[string]string{"stats --watch": "0.0", "top": "memory "} {
		a.watched(t, command, want)
	}
}

// watched checks two refreshes.
func (a *appliance) watched(t *testing.T, command, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out := &screen{end: cancel}
	root := cli.Root()
	root.SetArgs(append(strings.Fields(command), "--data", a.data, "--interval", "100ms"))
	root.SetOut(out)
	if err := root.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	if out.looks != 2 || !strings.Contains(out.text.String(), want) {
		t.Errorf("%s: %d looks\n%s", command, out.looks, out.text.String())
	}
}
