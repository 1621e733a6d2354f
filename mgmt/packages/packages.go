// Package packages reports the available updates in apt's lists. It does not download,
// install or lock anything, and needs no privilege.
//
// A check runs `apt-get -s dist-upgrade`, once for all simultaneous callers and once in
// KeepTime, with limits for time and output. The answer includes the age of apt's package
// lists, which are fetched by another program.
package packages

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/sysnet/programs"
)

// Status says whether there are updates, in the words of the product family.
type Status string

// The statuses.
const (
	Updated   Status = "Updated"
	Available Status = "Updates available"
	Unknown   Status = "unknown"
)

// Updates is the result of a check.
type Updates struct {
	Status Status
	// Message has more details, above all why the status is unknown.
	Message string
	// Lists is when apt's package lists were fetched; zero: unknown.
	Lists time.Time
	// Packages are the packages to update, at most MaxPackages; Number is how many there
	// are.
	Packages []Package
	Number   int
}

// Package is one update.
type Package struct {
	Name, From, To string
	Security       bool // from a source of security updates
}

// Limits of a check.
const (
	KeepTime    = 10 * time.Minute
	lookTime    = 30 * time.Second
	maxOutput   = 4 << 20
	MaxPackages = 1000
)

// Program is the program that lists the updates.
const Program = "/usr/bin/apt-get"

// Starter starts it in a sandbox; *programs.Client implements it.
type Starter interface {
	Run(ctx context.Context, c programs.Call, files ...*os.File) (programs.End, error)
}

// System holds the system's packages. Make it with New.
type System struct {
	program, lists string
	by             Starter
	now            func() time.Time

	mu    sync.Mutex // held during a check: others wait for its result
	last  Updates
	until time.Time
}

// New returns the packages of this system. Without a Starter this process starts apt; now
// may be nil.
func New(by Starter, now func() time.Time) *System {
	if now == nil {
		now = time.Now
	}
	return &System{program: Program, lists: "/var/lib/apt/lists", by: by, now: now}
}

// Updates returns the available updates.
func (s *System) Updates(ctx context.Context) Updates {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Before(s.until) {
		return s.last
	}
	u, err := s.look(ctx)
	if ctx.Err() != nil { // says nothing about the system
		return Updates{Status: Unknown, Message: "the caller did not wait"}
	}
	if err != nil {
		u = Updates{Status: Unknown, Message: err.Error(), Lists: u.Lists}
	}
	s.last, s.until = u, s.now().Add(KeepTime)
	return u
}

func (s *System) look(ctx context.Context) (u Updates, err error) {
	if _, err := os.Stat(s.program); errors.Is(err, fs.ErrNotExist) {
		return u, errors.New("this system has no apt: look with its own means")
	}
	if u.Lists = s.fetched(); u.Lists.IsZero() {
		return u, errors.New("apt has no lists of packages: run `apt-get update`")
	}
	out, err := s.run(ctx)
	if err != nil {
		return u, err
	}
	u.Packages, u.Number = parse(out)
	if u.Status, u.Message = Updated, "The system is up to date, by the lists apt has."; u.Number > 0 {
		u.Status, u.Message = Available, fmt.Sprintf("%d packages can be updated: run `apt-get dist-upgrade`.", u.Number)
	}
	return u, nil
}

// fetched returns when the newest list was fetched. Fetching an unchanged list changes only
// the folder, not the file.
func (s *System) fetched() (newest time.Time) {
	files, _ := filepath.Glob(filepath.Join(s.lists, "*_*"))
	if len(files) == 0 {
		return newest
	}
	for _, name := range append(files, s.lists, filepath.Join(s.lists, "partial")) {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(newest) && !info.ModTime().After(s.now()) {
			newest = info.ModTime()
		}
	}
	return newest
}

// run runs apt in simulation mode. It uses neither locks nor a cache.
func (s *System) run(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	call := programs.Call{Folder: filepath.Dir(s.program), File: filepath.Base(s.program), Name: s.program, Limit: lookTime, Output: maxOutput, Split: true,
		Args: []string{"-s", "-q", "-o", "Debug::NoLocking=1", "-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache=", "dist-upgrade"}, Env: []string{"LC_ALL=C"}}
	var e programs.End
	if s.by == nil {
		e = programs.Direct(ctx, call)
	} else {
		var err error
		if e, err = s.by.Run(ctx, call); err != nil {
			return nil, fmt.Errorf("apt cannot be asked: %w", err)
		}
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(e.Errors)), "\n")
	switch {
	case ctx.Err() != nil || e.Late:
		return nil, fmt.Errorf("apt did not answer within %s", lookTime)
	case e.Unstarted != "" || e.Excess != "":
		return nil, fmt.Errorf("apt cannot say: %s", e.Unstarted+e.Excess)
	case e.Exit != 0 || e.Signal != 0:
		return nil, fmt.Errorf("apt cannot say: %s (exit status %d)", strings.ToValidUTF8(line, "?"), e.Exit)
	case e.Full:
		return nil, errors.New("apt says more than fits")
	}
	return e.Output, nil
}

// update is a line such as "Inst curl [7.88.1-10+deb12u5] (7.88.1-10+deb12u8
// Debian-Security:12/stable [amd64])"; a new package has no previous version.
var update = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Inst ([a-z0-9][a-z0-9.+:-]*)(?: \[([^\]\s]+)\])? \((\S+) ([^\[)]*)`)
})

// parse reads the packages that apt would install.
func parse(out []byte) (list []Package, number int) {
	for line := range strings.Lines(string(out)) {
		m := update().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if number++; len(list) < MaxPackages {
			list = append(list, Package{Name: m[1], From: m[2], To: m[3], Security: strings.Contains(strings.ToLower(m[4]), "security")})
		}
	}
	slices.SortFunc(list, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return list, number
}
