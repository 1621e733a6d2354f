// Package usage reads the resources of the machine and their usage: processors, memory,
// load, network interfaces, disks, tracked connections. Only this package reads procfs
// for that.
package usage

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Sample is the state of the machine at one moment. Unknown values are zero or missing.
type Sample struct {
	At         time.Time
	CPU        CPU
	Cores      int
	Memory     Memory
	Load       [3]float64 // over the last 1, 5 and 15 minutes
	Interfaces []Interface
	Disks      []Disk
	// Connections is the number of tracked connections, or -1 without conntrack.
	Connections int64
}

// CPU is the time of all processors in seconds since boot.
type CPU struct {
	User, Nice, System, IOWait, IRQ, SoftIRQ, Steal, Idle float64
}

func (c CPU) total() float64 {
	return c.User + c.Nice + c.System + c.IOWait + c.IRQ + c.SoftIRQ + c.Steal + c.Idle
}

// Memory is in bytes.
type Memory struct {
	Total, Free, Available, Buffers, Cached uint64
	SwapTotal, SwapFree, SwapCached         uint64
}

// Used returns the memory of programs and the kernel, without file caches.
func (m Memory) Used() uint64 {
	return m.Total - min(m.Total, m.Free+m.Buffers+m.Cached)
}

// SwapUsed returns the used swap.
func (m Memory) SwapUsed() uint64 { return m.SwapTotal - min(m.SwapTotal, m.SwapFree) }

// Interface holds the byte counters of a network interface since it came up.
type Interface struct {
	Name    string
	In, Out uint64
}

// Disk is a mounted file system. Sizes are in bytes.
type Disk struct {
	Mount             string
	Total, Used, Free uint64 // Free: for ordinary users
}

// Read reads a Sample. root is the mount point of procfs. Unreadable values are omitted,
// so that the rest is available on a machine in trouble.
func Read(root string, now time.Time) Sample {
	s := Sample{At: now, Connections: -1}
	fs, err := procfs.NewFS(root)
	if err != nil {
		return s
	}
	if stat, err := fs.Stat(); err == nil {
		c := stat.CPUTotal
		s.CPU = CPU{c.User, c.Nice, c.System, c.Iowait, c.IRQ, c.SoftIRQ, c.Steal, c.Idle}
		s.Cores = len(stat.CPU)
	}
	if m, err := fs.Meminfo(); err == nil {
		s.Memory = Memory{
			Total: of(m.MemTotalBytes), Free: of(m.MemFreeBytes), Available: of(m.MemAvailableBytes), Buffers: of(m.BuffersBytes),
			Cached: of(m.CachedBytes), SwapTotal: of(m.SwapTotalBytes), SwapFree: of(m.SwapFreeBytes), SwapCached: of(m.SwapCachedBytes),
		}
	}
	if l, err := fs.LoadAvg(); err == nil {
		s.Load = [3]float64{l.Load1, l.Load5, l.Load15}
	}
	if all, err := fs.NetDev(); err == nil {
		for name, i := range all {
			s.Interfaces = append(s.Interfaces, Interface{name, i.RxBytes, i.TxBytes})
		}
		slices.SortFunc(s.Interfaces, func(a, b Interface) int { return cmp.Compare(a.Name, b.Name) })
	}
	s.Disks = disks(fs)
	if n, ok := number(root, trackedFile); ok {
		s.Connections = int64(n)
	}
	return s
}

// Files of conntrack below root.
const (
	trackedFile     = "sys/net/netfilter/nf_conntrack_count"
	mostTrackedFile = "sys/net/netfilter/nf_conntrack_max"
)

// Tracked returns the number of tracked connections and its limit. most is 0 without
// conntrack.
func Tracked(root string) (used, most uint64) {
	used, is := number(root, trackedFile)
	most, bounded := number(root, mostTrackedFile)
	if !is || !bounded {
		return 0, 0
	}
	return used, most
}

// number reads a file that contains a number.
func number(root, name string) (uint64, bool) {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
	return n, err == nil
}

func of(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}

// disks returns the file systems that hold data: the root and those on devices, each
// device once. Read-only images are always full and are omitted.
func disks(fs procfs.FS) []Disk {
	mounts, err := fs.GetMounts()
	if err != nil {
		return nil
	}
	slices.SortStableFunc(mounts, func(a, b *procfs.MountInfo) int { return cmp.Compare(a.MountPoint, b.MountPoint) })
	seen := map[string]bool{}
	var out []Disk
	for _, m := range mounts {
		if m.MountPoint != "/" && (!strings.HasPrefix(m.Source, "/dev/") || m.FSType == "squashfs" || m.FSType == "iso9660") || seen[m.MajorMinorVer] {
			continue
		}
		var st syscall.Statfs_t
		if syscall.Statfs(m.MountPoint, &st) != nil || st.Blocks == 0 {
			continue
		}
		seen[m.MajorMinorVer] = true
		size := uint64(st.Bsize)
		out = append(out, Disk{m.MountPoint, st.Blocks * size, (st.Blocks - st.Bfree) * size, st.Bavail * size})
	}
	return out
}

// Shares are the processor shares between two samples, in percent. Usage is everything
// except Idle and IOWait.
type Shares struct {
	User, Nice, System, IOWait, IRQ, SoftIRQ, Idle, Usage float64
}

// Since returns the shares since an earlier sample. Equal counters count as idle.
func (c CPU) Since(before CPU) Shares {
	all := c.total() - before.total()
	if all <= 0 {
		return Shares{Idle: 100}
	}
	share := func(now, then float64) float64 { return min(max(now-then, 0)*100/all, 100) }
	out := Shares{
		User: share(c.User, before.User), Nice: share(c.Nice, before.Nice), System: share(c.System, before.System),
		IOWait: share(c.IOWait, before.IOWait), IRQ: share(c.IRQ, before.IRQ), SoftIRQ: share(c.SoftIRQ, before.SoftIRQ),
		Idle: share(c.Idle, before.Idle),
	}
	out.Usage = max(100-out.Idle-out.IOWait, 0)
	return out
}
