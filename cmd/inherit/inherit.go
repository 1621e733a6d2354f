// Package inherit names the descriptors that one process passes to the next.
//
// A role opens nothing important itself: the supervisor opens sockets, shared memory and
// the data directory, and passes each role only the descriptors that it needs. The parent
// lists them with Pass. The child finds them with FromEnv, by name instead of number. The
// environment variable SLUICE_FDS contains the numbers as "name=fd,name=fd".
package inherit

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Variable is the environment variable that carries the list.
const Variable = "SLUICE_FDS"

// firstFD is the first number after standard input, output and error.
const firstFD = 3

// ErrMissing means that the parent did not pass a descriptor of that name.
var ErrMissing = errors.New("descriptor was not inherited")

// Set holds the inherited descriptors. The zero value is empty. It is safe for concurrent
// use.
type Set struct {
	files map[string]*os.File
}

// FromEnv reads the list, removes the variable and marks every descriptor
// close-on-exec again, so that nothing leaks into a grandchild. It fails when
// the variable is unset (the process was not started by a supervisor) or names
// a descriptor that is not open.
func FromEnv() (Set, error) {
	list, ok := os.LookupEnv(Variable)
	if !ok {
		return Set{}, fmt.Errorf("%s is not set: this is a role of `sluice run` and is not started by hand", Variable)
	}
	if err := os.Unsetenv(Variable); err != nil {
		return Set{}, err
	}
	return parse(list)
}

func parse(list string) (Set, error) {
	s := Set{files: map[string]*os.File{}}
	if list == "" {
		return s, nil
	}
	for entry := range strings.SplitSeq(list, ",") {
		name, number, ok := strings.Cut(entry, "=")
		fd, err := strconv.Atoi(number)
		if !ok || name == "" || err != nil || fd < firstFD {
			return Set{}, fmt.Errorf("%s: %q is not name=descriptor", Variable, entry)
		}
		if s.files[name] != nil {
			return Set{}, fmt.Errorf("%s: %q is named twice", Variable, name)
		}
		var st syscall.Stat_t
		if err := syscall.Fstat(fd, &st); err != nil {
			return Set{}, fmt.Errorf("%s: %s: descriptor %d: %w", Variable, name, fd, err)
		}
		syscall.CloseOnExec(fd)
		s.files[name] = os.NewFile(uintptr(fd), name)
	}
	return s, nil
}

// File returns the descriptor of that name. It stays open and belongs to the
// set: the same file is returned every time.
func (s Set) File(name string) (*os.File, error) {
	f := s.files[name]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrMissing)
	}
	return f, nil
}

// Listener returns a listener on the socket of that name. Closing it closes a duplicate;
// the parent's socket continues to listen.
func (s Set) Listener(name string) (net.Listener, error) {
	f, err := s.File(name)
	if err != nil {
		return nil, err
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("%s: not a listening socket: %w", name, err)
	}
	return l, nil
}

// UnixListener is Listener for a unix socket. Closing the listener keeps the path, which
// belongs to the parent.
func (s Set) UnixListener(name string) (*net.UnixListener, error) {
	l, err := s.Listener(name)
	if err != nil {
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		_ = l.Close()
		return nil, fmt.Errorf("%s: a %s socket, a unix socket is expected", name, l.Addr().Network())
	}
	return u, nil
}

// UnixConn returns the connected unix socket of that name, as a duplicate.
func (s Set) UnixConn(name string) (*net.UnixConn, error) {
	f, err := s.File(name)
	if err != nil {
		return nil, err
	}
	c, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("%s: not a connected socket: %w", name, err)
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		_ = c.Close()
		return nil, fmt.Errorf("%s: a %s socket, a unix socket is expected", name, c.LocalAddr().Network())
	}
	return u, nil
}

// Names returns the names of all inherited descriptors, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.files)) }

// Pass prepares files for a child: the value of Variable and the files in the
// order they must have after standard input, output and error. Names must not
// hold '=' or ','.
func Pass(files map[string]*os.File) (value string, ordered []*os.File) {
	var entries []string
	for i, name := range slices.Sorted(maps.Keys(files)) {
		entries = append(entries, name+"="+strconv.Itoa(firstFD+i))
		ordered = append(ordered, files[name])
	}
	return strings.Join(entries, ","), ordered
}
