package harden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// hostd carries out one request about one service of the machine (sysnet/settings)
// and ends. What it may do follows from the kind of the request, which the supervisor
// tells: the files of that one service and the programs that have it read them. It has
// no sockets but unix ones.

// replace is what replacing a file in a folder takes: another one is made and renamed.
const replace = writeFile | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE

// allowance is a right on files; what is not there is left out.
type allowance struct {
	rights uint64
	paths  string // separated by blanks
}

// hostFiles is what hostd reads whatever it is asked for: what programs are made of,
// and whom they ask for units.
var hostFiles = []allowance{
	{readTree, "/usr /lib /lib32 /lib64 /bin /sbin /proc"},
	{readTree, "/etc/ld.so.conf.d /etc/systemd /etc/ssl /etc/pki /etc/crypto-policies"},
	{readFile, "/etc/ld.so.cache /etc/ld.so.preload /etc/ld.so.conf /etc/nsswitch.conf /etc/passwd /etc/group /etc/localtime /etc/gai.conf /etc/hosts"},
	{readFile, "/dev/urandom /dev/random"},
	{readFile | writeFile, "/dev/null"},
	{readTree | filesABI9, "/run/systemd /run/dbus"},
}

// hostKind is what hostd may do for one kind of request.
type hostKind struct {
	files    []allowance
	programs []string
	// folders are made before, where what they lie in is there.
	folders []string
	// signals: a service that has no unit is told by one.
	signals bool
}

var hostKinds = map[string]hostKind{
	// Landlock knows folders and all that lies below them, so who replaces a file of
	// /etc may replace each; only addresses get that far.
	"dns": {files: []allowance{{replace, "/etc"}, {readFile, "/etc/resolv.conf /etc/resolv.conf.before-sluice"}}},
	"ntp": {programs: []string{"systemctl"}, folders: []string{"/etc/systemd/timesyncd.conf.d"},
		files: []allowance{{readTree, "/etc/chrony"}, {readTree | replace, "/etc/chrony/sources.d /etc/systemd/timesyncd.conf.d"}}},
	"ssh": {programs: []string{"sshd", "systemctl"}, signals: true,
		files: []allowance{{readTree, "/etc/ssh /run/sshd"}, {readFile, "/run/sshd.pid"}, {readTree | replace, "/etc/ssh/sshd_config.d"}}},
	"snmp": {programs: []string{"systemctl"}, folders: []string{"/etc/snmp/snmpd.conf.d"},
		files: []allowance{{readTree, "/etc/snmp"}, {readTree | replace, "/etc/snmp/snmpd.conf.d"}}},
}

// HostMay reports whether hostd knows requests of that kind.
func HostMay(kind string) bool {
	_, known := hostKinds[kind]
	return known
}

// Host prepares hostd, and the programs it will run, for one kind of request. It is
// root without capabilities: LimitThread took them.
func Host(kind string) (Status, error) {
	k, known := hostKinds[kind]
	if !known {
		return Status{}, fmt.Errorf("there are no requests about %q", kind)
	}
	unix.Umask(0) // the modes of files are meant
	for _, folder := range k.folders {
		if _, err := os.Stat(filepath.Dir(folder)); err == nil {
			_ = os.Mkdir(folder, 0o755) // without it the settings say what is missing
		}
	}
	scope := uint64(unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET)
	if !k.signals {
		scope |= unix.LANDLOCK_SCOPE_SIGNAL
	}
	return shutIn(&hostFilter, func() (string, error) {
		return restrict(unix.LANDLOCK_ACCESS_NET_CONNECT_TCP|unix.LANDLOCK_ACCESS_NET_BIND_TCP, scope, k.allow)
	})
}

func (k *hostKind) allow(fd uintptr, abi int) error {
	known := fileRights(abi)
	for _, list := range [][]allowance{hostFiles, k.files} {
		for _, f := range list {
			for path := range strings.FieldsSeq(f.paths) {
				if err := allowBeneath(fd, path, f.rights&known&fitting(path)); err != nil {
					return err
				}
			}
		}
	}
	for _, folder := range programFolders {
		for _, name := range k.programs {
			if err := allowProgram(fd, filepath.Join(folder, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fitting leaves out what is a right on folders for what is none.
func fitting(path string) uint64 {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return readFile | writeFile | execute | filesABI9
	}
	return ^uint64(0)
}
