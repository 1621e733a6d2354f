package e2e_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Standard error may be a pipe that is not read for a while. Loops log failed backends there
// and must not block.
func TestUnreadLogBlocksNoRequest(t *testing.T) {
	who := asOne()
	port, lines := freePort(t), 60
	_, alive, err := net.SplitHostPort(backend(t, "alive"))
	if err != nil {
		t.Fatal(err)
	}
	var doc strings.Builder
	fmt.Fprintf(&doc, "farms:\n- name: shop\n  profile: http\n  vip: 127.0.0.1\n  vport: %d\n  services:\n  - name: all\n    backends:\n    - {ip: 127.0.0.1, port: %s}\n", port, alive)
	for i := range lines { // nothing listens
		fmt.Fprintf(&doc, "    - {ip: 127.9.0.%d, port: 9}\n", i+1)
	}
	config := filepath.Join(dataDir(t, who), "sluice.yaml")
	if err := os.WriteFile(config, []byte(doc.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	a := start(t, who, dataDir(t, who), "--config", config)
	url := fmt.Sprintf("http://127.0.0.1:%d/", port)
	pipe, err := a.pipe.(*os.File).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = pipe.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 4096) })
	if err != nil {
		t.Fatal(err)
	}
	a.reads.Lock()
	muted := true
	defer func() {
		if muted {
			a.reads.Unlock()
		}
	}()
	for range 80 { // any backend
		wantAnswer(t, url, "alive")
	}
	a.reads.Unlock()
	muted = false
	a.says("backend is down", lines)
}
