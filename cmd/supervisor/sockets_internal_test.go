package supervisor

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOptionsAreFilledIn(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLUICE_DATA", "/from/env")
	o := Options{}
	if err := o.fill(); err != nil || !reflect.DeepEqual(o, Options{Data: "/from/env", Grace: 2 * time.Second, Log: slog.Default()}) {
		t.Errorf("defaults: %+v %v", o, err)
	}
	log := slog.New(slog.DiscardHandler)
	o = Options{Data: "d", Config: "c.yaml", Grace: time.Minute, Log: log}
	if err := o.fill(); err != nil || !reflect.DeepEqual(o, Options{Data: here + "/d", Config: here + "/c.yaml", Grace: time.Minute, Log: log}) {
		t.Errorf("of names from here: %+v %v", o, err)
	}
	t.Setenv("SLUICE_DATA", "")
	t.Setenv("HOME", "/home/x")
	for state, want := range map[string]string{"/state": "/state/sluice", "state": "/home/x/.local/state/sluice", "": "/home/x/.local/state/sluice"} {
		t.Setenv("XDG_STATE_HOME", state)
		if got, err := StateDir("sluice"); err != nil || got != want {
			t.Errorf("XDG_STATE_HOME=%s: got %s %v, want %s", state, got, err, want)
		}
		if os.Geteuid() == 0 {
			want = "/var/lib/sluice"
		}
		if got, err := DefaultData(); err != nil || got != want {
			t.Errorf("XDG_STATE_HOME=%s: got %s %v, want %s", state, got, err, want)
		}
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	if _, err := StateDir("sluice"); err == nil || !strings.Contains(err.Error(), "choose a directory with --data") {
		t.Errorf("without a home: %v", err)
	}
}

func TestSocketsOfTheInstanceAreItsOwn(t *testing.T) {
	d, err := openData(t.TempDir(), owners{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	s, err := openSockets(d, "127.0.0.1:0", owners{})
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*os.File{mgmtSock: s.mgmt, engineSock: s.engine, netdSock: s.netd} {
		if st, err := os.Stat(d.within(name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, st.Mode(), err)
		}
		kind, err := syscall.GetsockoptInt(int(f.Fd()), syscall.SOL_SOCKET, syscall.SO_TYPE)
		if want := map[bool]int{true: syscall.SOCK_STREAM, false: syscall.SOCK_SEQPACKET}[name == mgmtSock]; err != nil || kind != want {
			t.Errorf("%s is of type %d, %v, want %d", name, kind, err, want)
		}
	}
	if mask := syscall.Umask(0o077); mask == 0o177 {
		t.Error("files of this process are made with the mask of the sockets")
	} else {
		syscall.Umask(mask)
	}
	if _, err := s.marksIn.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 9)
	if n, err := s.marksOut.Read(b); err != nil || string(b[:n]) != "hello" {
		t.Errorf("over the pair came %q, %v", b[:n], err)
	}
	for waiting := 0; ; waiting++ { // the engine cannot fill it with unread messages
		_ = s.marksIn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := s.marksIn.WriteString("x"); err != nil {
			break
		}
		if waiting > 100 {
			t.Fatal("more than a hundred messages wait")
		}
	}
	if c, err := net.Dial("tcp", s.api.String()); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
	s.close()
	for _, f := range []*os.File{s.apiFile, s.mgmt, s.engine, s.netd, s.marksIn, s.marksOut} {
		if _, err := f.Stat(); err == nil {
			t.Errorf("%s is still open", f.Name())
		}
	}
	if c, err := net.Dial("tcp", s.api.String()); err == nil {
		t.Error("the API listens still")
		c.Close()
	}
	if _, err := openSockets(d, "127.0.0.1:0", owners{}); err == nil || !strings.Contains(err.Error(), "opening mgmt.sock in "+d.path) {
		t.Errorf("over existing sockets: %v", err)
	}
	if _, err := openSockets(d, "127.0.0.1:x", owners{}); err == nil || !strings.Contains(err.Error(), "the API cannot listen on 127.0.0.1:x") {
		t.Errorf("no port: %v", err)
	}
	// A port released meanwhile is used.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(30*time.Millisecond, func() { l.Close() })
	again, err := listenAPI(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestPortOfTheAPIIsOneTheUserMayOpen(t *testing.T) {
	for user, want := range map[int]string{0: ":444", 1: ":4444", 1000: ":4444"} {
		if got := defaultAPI(user); got != want {
			t.Errorf("of user %d: %s, want %s", user, got, want)
		}
	}
}

func TestSharedMemoryHasTheExpectedLayout(t *testing.T) {
	m, err := openMemory()
	if err != nil {
		t.Fatal(err)
	}
	all := []*os.File{m.page, m.health, m.stats, m.records, m.sessions, m.tickets, m.kinds, m.wake, m.statsReader, m.healthReader, m.kindsReader}
	for i, f := range all {
		if _, err := f.Stat(); err != nil {
			t.Errorf("file %d: %v", i, err)
		}
	}
	if m.control == nil || m.control.EnginePID() != 0 {
		t.Error("the page is not fresh")
	}
	for _, f := range all[8:] {
		if _, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err == nil {
			t.Errorf("a reader can write %s", f.Name())
		}
	}
	m.close()
	for i, f := range all {
		if _, err := f.Stat(); err == nil {
			t.Errorf("file %d is still open", i)
		}
	}
	broken := errors.New("no room")
	if f, err := segment("test", 4096, func([]byte) error { return broken }); f != nil || !errors.Is(err, broken) {
		t.Errorf("a segment that cannot be made: %v", err)
	}
}

func TestFilesOfProcAreUnderstood(t *testing.T) {
	for text, want := range map[string]thread{"7 8 9\n": {ran: 7, waited: 8, turns: 9}, "7 8": {}, "7 8 9 10": {}, "x 8 9": {}, "7 x 9": {}, "7 8 -1": {}, "": {}} {
		if got, ok := parseSchedstat(text); got != want || ok != (want.turns != 0) {
			t.Errorf("%q: %+v %v", text, got, ok)
		}
	}
	path := filepath.Join(t.TempDir(), "stat")
	for text, want := range map[string]byte{"7 (a) b) S 1\n": 'S', "7 (x) T": 'T', "7 (x) ": 0, "7 x S": 0, "": 0} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := stateOf(path); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %c %v", text, got, err)
		}
	}
	if _, err := stateOf(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if threads := threadsOf(os.Getpid()); threads[os.Getpid()].state == 0 || threads[os.Getpid()].turns == 0 {
		t.Errorf("of this process: %+v", threads)
	}
	if threads := threadsOf(1 << 30); threads != nil {
		t.Errorf("of no process: %+v", threads)
	}
}

func TestDroppedOutputIsCounted(t *testing.T) {
	var said bytes.Buffer
	m, out, err := openOutput(&said)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("x", 1023) + "\n"
	for range maxSaid/len(line) + 2 {
		if _, err := out.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	out.Close()
	if more := m.close(); more != 2*len(line) || said.Len() != maxSaid {
		t.Errorf("%d bytes were passed on, %d left out", said.Len(), more)
	}
}

func TestRolesGetOnlyTuningVariables(t *testing.T) {
	for _, name := range passedOn {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("TZ", "UTC")
	t.Setenv("GOGC", "50")
	t.Setenv("SECRET", "x")
	want := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOGC=50", "TZ=UTC"}
	if got := environment(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	k := &runner{environment: []string{"A=1"}}
	if got := k.variables("x"); !slices.Equal(got[:1], []string{"A=1"}) || len(got) != 3 || got[2] != FirstVariable+"=1" {
		t.Errorf("before it served %q", got)
	}
	k.served = true
	if got := k.variables("x"); len(got) != 2 {
		t.Errorf("later %q", got)
	}
	if err := k.reload(); err == nil {
		t.Error("reload succeeded for a role that does not run")
	}
}
