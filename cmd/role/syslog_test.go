package role_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/porttest"
)

// collector is a syslog server that records its input.
func collector(t *testing.T) (address string, got *logtest.Log) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	got = new(logtest.Log)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = bufio.NewReader(c).WriteTo(splitting{got}) }()
		}
	}()
	return l.Addr().String(), got
}

// splitting ends a line before each message.
type splitting struct{ to *logtest.Log }

func (s splitting) Write(p []byte) (int, error) {
	_, err := s.to.Write([]byte(strings.ReplaceAll(string(p), "<", "\n<")))
	return len(p), err
}

// The logs of supervisor, engine and netd go to mgmt's syslog servers, including lines from
// before mgmt started.
func TestLogsOfOtherRolesReachTheSyslogServer(t *testing.T) {
	address, got := collector(t)
	a := start(t, "farms: []\n", true)
	a.must("system", "syslog", "servers=tcp://"+address)
	port := porttest.TCP(t)
	a.must("farm", "create", "shop", "vip="+port.Addr().String(), "vport="+strings.TrimPrefix(port.String(), port.Addr().String()+":"))
	has := func(parts ...string) func() bool {
		return func() bool {
			for _, line := range got.Lines(parts[0]) {
				all := true
				for _, p := range parts {
					all = all && strings.Contains(line, p)
				}
				if all {
					return true
				}
			}
			return false
		}
	}
	eventually(t, "what netd logs", has(`role="netd"`, "listening key=tcp/"+port.String()))
	engine, mgmt := a.pid("engine"), a.pid("mgmt")
	_ = syscall.Kill(mgmt, syscall.SIGSTOP)
	_ = syscall.Kill(engine, syscall.SIGQUIT)
	eventually(t, "the engine died", func() bool { return a.log.Has("role died") })
	_ = syscall.Kill(mgmt, syscall.SIGKILL)
	eventually(t, "the end of the engine", has(`<27>1 `, `role="supervisor"`, "role died name=engine"))
	eventually(t, "its last words", has(`role="supervisor"`, "engine said: SIGQUIT: quit"))
	eventually(t, "the end of mgmt", has(`<27>1 `, `role="supervisor"`, "role died name=mgmt"))
	a.shows("tcp://"+address+": ", "system", "syslog")

	archive := filepath.Join(t.TempDir(), "support.tar.gz")
	a.must("supportsave", archive)
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"supportsave/process/engine.txt", "core/link.(*connection).answerTo", "supportsave/process/netd.txt", "sysnet/ctl.(*server).serve", "supportsave/log/others.txt", "supervisor ERROR role died name=mgmt"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the archive for support lacks %q", want)
		}
	}
}
