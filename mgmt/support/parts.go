package support

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/sluicelb/sluice/mgmt/logfiles"
)

// Text returns a part with an existing text, or of a function that cannot fail.
func Text(name string, text func() string) Part {
	return Part{Name: name, Write: func(_ context.Context, w io.Writer) error { _, err := io.WriteString(w, text()); return err }}
}

// procFiles are the kernel's files about the machine and its networks that are readable for
// every user; none contains a secret. Of tables that grow with traffic only the beginning
// is used.
var procFiles = []string{
	"version", "uptime", "loadavg", "meminfo", "stat", "self/status", "self/limits", "self/mountinfo", "self/cgroup",
	"net/dev", "net/route", "net/ipv6_route", "net/fib_trie", "net/if_inet6", "net/arp", "net/sockstat", "net/sockstat6", "net/snmp", "net/netstat",
	"net/softnet_stat", "net/tcp", "net/tcp6", "net/udp", "net/udp6", "net/unix",
	"sys/net/netfilter/nf_conntrack_count", "sys/net/netfilter/nf_conntrack_max", "sys/fs/file-nr", "sys/net/ipv4/ip_forward",
	"sys/net/core/somaxconn", "sys/net/ipv4/ip_local_port_range", "pressure/cpu", "pressure/memory", "pressure/io",
}

// procLimit is the greatest size of one of them, in bytes.
const procLimit = 256 << 10

// Machine returns the parts from the kernel. root is /proc.
func Machine(root string) (parts []Part) {
	for _, name := range procFiles {
		parts = append(parts, file("kernel/"+strings.ReplaceAll(name, "/", "-"), root+"/"+name))
	}
	return parts
}

func file(name, path string) Part {
	return Part{Name: name, Limit: procLimit, Write: func(_ context.Context, w io.Writer) error {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			_, err = io.WriteString(w, "[this kernel has none]\n")
			return err
		}
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	}}
}

// Process returns the parts about this process: its build, and its goroutines.
func Process() []Part {
	return []Part{
		Text("process/build.txt", func() string {
			if info, ok := debug.ReadBuildInfo(); ok {
				return info.String()
			}
			return runtime.Version()
		}),
		Text("process/goroutines.txt", func() string {
			stacks := make([]byte, DefaultLimit)
			return string(stacks[:runtime.Stack(stacks, true)])
		}),
		Text("process/memory.txt", func() string {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return fmt.Sprintf("goroutines %d\nheap in use %d\nheap idle %d\nstacks %d\nobtained %d\ncollections %d\n", runtime.NumGoroutine(), m.HeapInuse, m.HeapIdle, m.StackInuse, m.Sys, m.NumGC)
		}),
	}
}

// Logs lists and reads log files; logfiles.Dir is one.
type Logs interface {
	List() ([]logfiles.File, error)
	Last(name string, n int) ([]string, error)
}

const (
	// maxLogs is how many log files are included, the newest ones; logLines how many lines
	// of each, from its end.
	maxLogs  = 20
	logLines = 2000
)

// LogFiles returns the ends of the newest log files.
func LogFiles(logs Logs) (parts []Part) {
	list, err := logs.List()
	if err != nil {
		return []Part{Text("log/list.txt", err.Error)}
	}
	for _, f := range list[:min(len(list), maxLogs)] {
		parts = append(parts, Part{Name: "log/" + f.Name + ".txt", Write: func(_ context.Context, w io.Writer) error {
			lines, err := logs.Last(f.Name, logLines)
			for _, line := range lines {
				if _, err := io.WriteString(w, line+"\n"); err != nil {
					return err
				}
			}
			return err
		}})
	}
	return parts
}
