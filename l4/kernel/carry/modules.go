package carry

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// The kernel loads the module of a helper when a rule names it, but not the module that
// rewrites addresses in the stream (nf_nat_ftp). Without that one, farms would fail only at
// the first data connection.

// modules holds the kernel's modules. known is false if they cannot be read.
type modules struct {
	there map[string]bool
	known bool
}

// findModules reads the loaded and built-in modules.
func findModules() modules {
	m := modules{there: map[string]bool{}}
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return m
	}
	loaded := readLines("/proc/modules", func(line string) {
		name, _, _ := strings.Cut(line, " ")
		m.there[name] = true
	})
	builtin := readLines(path.Join("/lib/modules", path.Base(strings.TrimSpace(string(release))), "modules.builtin"), func(line string) {
		name := strings.TrimSuffix(path.Base(line), ".ko")
		m.there[strings.ReplaceAll(name, "-", "_")] = true
	})
	m.known = loaded && builtin
	return m
}

func readLines(name string, use func(string)) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		use(lines.Text())
	}
	return lines.Err() == nil
}

// lacks returns what the kernel lacks for a farm, or an empty string.
func (m modules) lacks(f *farm.Farm) string {
	if !m.known || (f.L4.NAT != farm.NATMasquerade && f.L4.NAT != farm.NATTarget) {
		return ""
	}
	for _, module := range rules.Rewriters(f.L4.Protocol) {
		if !m.there[module] {
			return fmt.Sprintf("protocol %s needs the kernel module %s, which is not loaded: run modprobe %s", f.L4.Protocol, module, module)
		}
	}
	return ""
}

// able returns in without the farms that cannot be carried, with the reasons by ID. Those that
// lack a module are recorded. Modules
// are read each time a farm needs them, because they may have been loaded since.
func able(in *rules.Input, find func() modules) (left rules.Input, lacking map[uint32]string) {
	left, lacking = *in, map[uint32]string{}
	kernel := sync.OnceValue(find)
	for i := range in.Farms {
		f := &in.Farms[i]
		if err := rules.Plain(f); err != nil {
			lacking[f.ID] = err.Error()
		} else if !f.Stopped && f.L4.Protocol.Helper() {
			if reason := kernel().lacks(f); reason != "" {
				lacking[f.ID] = reason
				left.Recorded = append(left.Recorded, *f)
			}
		}
	}
	if len(lacking) > 0 {
		left.Farms = slices.DeleteFunc(slices.Clone(in.Farms), func(f farm.Farm) bool { return lacking[f.ID] != "" })
	}
	return left, lacking
}
