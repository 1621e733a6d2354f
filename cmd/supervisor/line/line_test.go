package line_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a supervisor with one file.
type fake struct {
	config      string
	ready       chan harden.Status
	password    string
	refuses     error         // error of a password change
	checks      chan struct{} // the answer to a password takes one value; nil: it does not wait
	mu          sync.Mutex
	overstepped []string
}

func (f *fake) Overstepped(message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.overstepped = append(f.overstepped, message)
}

// noted returns the number of forbidden messages.
func (f *fake) noted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.overstepped)
}

func (f *fake) Ready(st harden.Status) { f.ready <- st }

func (f *fake) Config() (*os.File, error) {
	if f.config == "" {
		return nil, line.ErrNoConfig
	}
	return os.Open(f.config)
}

func (f *fake) Roles() []line.Role { return []line.Role{{Name: "engine", PID: 7, Restarts: 2}} }

func (f *fake) ListenAPI(address string) (*os.File, error) {
	if address == "" {
		return nil, errors.New("no port is free")
	}
	return os.Open(address)
}

func (f *fake) HostRequest(ctx context.Context, kind string, request []byte) ([]byte, error) {
	if f.checks != nil {
		select {
		case <-f.checks:
		case <-ctx.Done():
			return []byte("late"), ctx.Err()
		}
	}
	if kind == "" {
		return []byte("partly"), errors.New("no kind")
	}
	return append([]byte(kind+": "), request...), nil
}

func (f *fake) RootPassword(ctx context.Context, password string) (bool, error) {
	if f.checks != nil {
		select {
		case <-f.checks:
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
	if f.password == "" {
		return true, errors.New("no program")
	}
	return password == f.password, nil
}

func (f *fake) ChangeRootPassword(_ context.Context, old, new string) (bool, error) {
	if f.refuses != nil || old != f.password {
		return f.refuses != nil, f.refuses
	}
	f.password = new
	return true, nil
}

// pair is the channel of mgmt, which may ask.
func pair(t *testing.T, s *fake) (*line.Post, *line.Line) {
	t.Helper()
	return pairWith(t, s, s)
}

func pairWith(t *testing.T, s *fake, desk line.Desk) (*line.Post, *line.Line) {
	t.Helper()
	post, theirs, err := line.Pair(s, desk)
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	t.Cleanup(post.Close)
	c, err := net.FileConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	return post, line.Answer(c.(*net.UnixConn))
}

func TestConfigIsReadEachTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	_, l := pair(t, &fake{config: file})
	for i := range 3 {
		want := strings.Repeat(fmt.Sprint(i), 100_000) // longer than a message
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		path, got, err := l.Config(t.Context())
		if err != nil || string(got) != want || path != file {
			t.Fatalf("%s: %d bytes, %v; want %d", path, len(got), err, len(want))
		}
	}
}

func TestMissingConfigIsReported(t *testing.T) {
	_, l := pair(t, &fake{})
	if _, _, err := l.Config(t.Context()); !errors.Is(err, line.ErrNoConfig) {
		t.Errorf("without --config: %v", err)
	}
	_, l = pair(t, &fake{config: "/nowhere/c.yaml"})
	if _, _, err := l.Config(t.Context()); err == nil || !strings.Contains(err.Error(), "/nowhere/c.yaml") {
		t.Errorf("with a file that is missing: %v", err)
	}
}

func TestReportRolesAndReloadArrive(t *testing.T) {
	s := &fake{ready: make(chan harden.Status, 1)}
	post, l := pair(t, s)
	if err := l.Ready(harden.Status{UID: 42}); err != nil {
		t.Fatal(err)
	}
	if st := <-s.ready; st.UID != 42 {
		t.Errorf("report: %+v", st)
	}
	roles, err := l.Roles(t.Context())
	if err != nil || len(roles) != 1 || roles[0].PID != 7 {
		t.Errorf("roles: %v, %v", roles, err)
	}
	for range 5 {
		if err := post.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-l.Reload():
	case <-time.After(5 * time.Second):
		t.Error("reload did not arrive")
	}
}

func TestUnprivilegedRolesAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &fake{config: file, password: "right", ready: make(chan harden.Status, 1)}
	_, l := pairWith(t, s, nil)
	if path, content, err := l.Config(t.Context()); !errors.Is(err, line.ErrNotYours) || path != "" || content != nil {
		t.Errorf("configuration: %s %q, %v", path, content, err)
	}
	if roles, err := l.Roles(t.Context()); !errors.Is(err, line.ErrNotYours) || roles != nil {
		t.Errorf("roles: %v, %v", roles, err)
	}
	if right, err := l.RootPassword(t.Context(), "right"); !errors.Is(err, line.ErrNotYours) || right {
		t.Errorf("password: %t, %v", right, err)
	}
	if f, err := l.ListenAPI(t.Context(), file); !errors.Is(err, line.ErrNotYours) || f != nil {
		t.Errorf("a listener: %v, %v", f, err)
	}
	if answer, err := l.HostRequest(t.Context(), "dns", []byte("x")); !errors.Is(err, line.ErrNotYours) || answer != nil {
		t.Errorf("the machine: %s, %v", answer, err)
	}
	if err := l.Ready(harden.Status{UID: 42}); err != nil {
		t.Fatal(err)
	}
	if st := <-s.ready; st.UID != 42 {
		t.Errorf("its report: %+v", st)
	}
	if n := s.noted(); n != 5 {
		t.Errorf("noted %d times", n)
	}
}

func TestOnlyTheFirstReportOfAProcessCounts(t *testing.T) {
	s := &fake{ready: make(chan harden.Status, 3)}
	_, l := pair(t, s)
	for uid := range 3 {
		if err := l.Ready(harden.Status{UID: uid}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Roles(t.Context()); err != nil { // the reports were read by then
		t.Fatal(err)
	}
	if st := <-s.ready; st.UID != 0 || len(s.ready) != 0 || s.noted() != 2 {
		t.Errorf("first report %+v, %d further ones accepted, %d forbidden messages", st, len(s.ready), s.noted())
	}
}

func TestBothSidesDetectTheEnd(t *testing.T) {
	post, l := pair(t, &fake{})
	post.Close()
	select {
	case <-l.Gone():
	case <-time.After(5 * time.Second):
		t.Fatal("the role does not see the end")
	}
	if _, err := l.Roles(t.Context()); err == nil {
		t.Error("a question after the end was answered")
	}
	if err := post.Reload(); err == nil {
		t.Error("a reload after the end was sent")
	}
}

// Every role sends signs of life without code of its own. It gets no second request before it
// has answered.
func TestRolesAnswerHeartbeats(t *testing.T) {
	s := &fake{}
	post, _ := pairWith(t, s, nil)
	for n := range uint64(3) {
		for limit := time.Now().Add(10 * time.Second); post.Pulse(0) <= n; time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("after %d answers none comes", n)
			}
		}
	}
	before := post.Pulse(0)
	if s.noted() != 0 {
		t.Error("an answer counts as a forbidden message")
	}
	time.Sleep(50 * time.Millisecond)
	if last := post.Pulse(time.Hour); last < before || post.Pulse(time.Hour) != last {
		t.Error("a second request is sent before its time")
	}
}
