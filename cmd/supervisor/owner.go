package supervisor

import (
	"bufio"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Uids and gids of engine and mgmt on a system without users for them.
const (
	engineID  = 61740
	managerID = 61741
)

// owners holds the ids of the roles. The zero value means that all have the ids of the
// supervisor.
type owners struct {
	change          bool
	engine, manager syscall.Credential
}

func findOwners() owners {
	if os.Geteuid() != 0 {
		return owners{}
	}
	o := owners{change: true, engine: userNamed("sluice-engine", engineID), manager: userNamed("sluice", managerID)}
	if !mapped(o.engine.Uid) || !mapped(o.manager.Uid) {
		// Root of a user namespace without these ids: no other identity is available.
		return owners{}
	}
	return o
}

// userNamed returns the user of that name, or the fixed number, without supplementary
// groups.
func userNamed(name string, id uint32) syscall.Credential {
	c := syscall.Credential{Uid: id, Gid: id}
	u, err := user.Lookup(name)
	if err != nil {
		return c
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr == nil && gidErr == nil && uid != 0 {
		c.Uid, c.Gid = uint32(uid), uint32(gid)
	}
	return c
}

// mapped reports whether this user namespace has the id. Lines of uid_map are "first outside
// length".
func mapped(id uint32) bool {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return true
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) != 3 {
			continue
		}
		first, _ := strconv.ParseUint(fields[0], 10, 32)
		length, _ := strconv.ParseUint(fields[2], 10, 33)
		if uint64(id) >= first && uint64(id) < first+length {
			return true
		}
	}
	return false
}

// managerUID returns the owner of the data directory.
func (o owners) managerUID() uint32 {
	if o.change {
		return o.manager.Uid
	}
	return uint32(os.Geteuid())
}

// managerGID returns the group of mgmt.
func (o owners) managerGID() uint32 {
	if o.change {
		return o.manager.Gid
	}
	return uint32(os.Getegid())
}

// asManager runs f with mgmt's file-system identity and without root's privileges over
// files. Files created by f belong to mgmt. The identity is that of the thread, so f must
// not pass work to other goroutines.
func (o owners) asManager(f func() error) error {
	if !o.change {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// These calls report no failure. The second one also removes, and later restores, the
	// capabilities that override file permissions.
	_ = syscall.Setfsgid(int(o.manager.Gid))
	_ = syscall.Setfsuid(int(o.manager.Uid))
	defer func() {
		_ = syscall.Setfsuid(0)
		_ = syscall.Setfsgid(0)
	}()
	return f()
}
