package loop_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/core/loop"
)

// openssl runs openssl s_client against addr with lines as its input.
func openssl(t *testing.T, addr string, lines []string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("openssl")
	if err != nil {
		t.Skipf("not shown: openssl is not installed: %v", err)
	}
	cmd := exec.Command(path, append([]string{"s_client", "-connect", addr, "-servername", "loop.test"}, args...)...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out output
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i, line := range lines {
		time.Sleep(100 * time.Millisecond)
		_, _ = in.Write([]byte(line))
		if i < len(lines)-1 { // a command must arrive in a read of its own
			out.await(strings.ToLower(line) == "k\n", line)
		}
	}
	stop := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	_ = cmd.Wait()
	return out.String()
}

// output is the output of a running program.
type output struct {
	logtest.Log
	keys int // key updates that were awaited
}

// await waits for the echo of a line, or for a key update.
func (o *output) await(keys bool, line string) {
	if keys {
		o.keys++
	}
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		switch text := o.String(); {
		case keys && strings.Count(text, "KEYUPDATE") >= o.keys, !keys && strings.Contains(text, line):
			return
		}
	}
}

// untilQuit returns an echo that ends on the line "quit".
func untilQuit(l *loop.Loop) *probe {
	return &probe{readable: func(c *loop.Conn) {
		for {
			n, err := c.Read(l.In)
			if err == loop.ErrDry {
				return
			}
			if err != nil {
				c.Close()
				return
			}
			_ = c.Write(l.In[:n])
			if strings.Contains(string(l.In[:n]), "quit") {
				c.Linger(int64(time.Second))
				return
			}
		}
	}}
}

func TestOpenSSLTalksToASecureConnection(t *testing.T) {
	l := start(t)
	addr := secure(t, l, serverConfig(nil, "P-256", "RSA"), func(*loop.Conn) *probe { return untilQuit(l) })
	for _, test := range []struct {
		name  string
		args  []string
		lines []string
		want  []string
	}{
		{"TLS 1.3", []string{"-tls1_3"}, []string{"hello\n", "quit\n"}, []string{"TLSv1.3", "hello\n", "quit\n"}},
		{"TLS 1.2", []string{"-tls1_2"}, []string{"hello\n", "quit\n"}, []string{"TLSv1.2", "hello\n", "quit\n"}},
		{"new keys", []string{"-tls1_3"}, []string{"one\n", "K\n", "two\n", "k\n", "three\n", "quit\n"}, []string{"KEYUPDATE", "one\n", "two\n", "three\n"}},
		{"renegotiation is refused", []string{"-tls1_2"}, []string{"R\n"}, []string{"RENEGOTIATING", "alert unexpected message"}},
		{"resumption", []string{"-tls1_2", "-reconnect"}, []string{"quit\n"}, []string{"Reused, TLSv1.2"}},
		{"RSA", []string{"-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"}, []string{"quit\n"}, []string{"ECDHE-RSA-AES128-GCM-SHA256"}},
		{"CBC", []string{"-tls1_2", "-cipher", "ECDHE-RSA-AES128-SHA"}, []string{"hello\n", "quit\n"}, []string{"hello\n"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := openssl(t, addr, test.lines, test.args...)
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in the output of openssl:\n%s", want, out)
				}
			}
		})
	}
	eventually(t, "connections are left", func() bool { return open(l) == 0 })
}
