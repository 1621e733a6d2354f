package harden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// hostd handles one request about one service of the machine (sysnet/settings) and exits.
// The supervisor passes the kind of the request. It determines the accessible files,
// which belong to one service, and the programs that reload them. Only unix sockets are
// allowed.

// replace is the set of rights to replace a file in a folder: create and rename.
const replace = writeFile | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE

// allowance is a set of rights on files. Missing files are skipped.
type allowance struct {
	rights uint64
	paths  string // separated by blanks
}

// hostFiles lists what hostd reads for every kind: programs, libraries and the sockets of
// systemd.
var hostFiles = []allowance{
	{readTree, "/usr /lib /lib32 /lib64 /bin /sbin /proc"},
	{readTree, "/etc/ld.so.conf.d /etc/systemd /etc/ssl /etc/pki /etc/crypto-policies"},
	{readFile, "/etc/ld.so.cache /etc/ld.so.preload /etc/ld.so.conf /etc/nsswitch.conf /etc/passwd /etc/group /etc/localtime /etc/gai.conf /etc/hosts"},
	{readFile, "/dev/urandom /dev/random"},
	{readFile | writeFile, "/dev/null"},
	{readTree | filesABI9, "/run/systemd /run/dbus"},
}

// hostKind is the set of permissions for one kind of request.
type hostKind struct {
	files    []allowance
	programs []string
	// folders are created beforehand if their parent exists.
	folders []string
	// signals is true if a service without a unit is reloaded by signal.
	signals bool
}

var hostKinds = map[string]hostKind{
	// Landlock rules cover whole folders, so a process that replaces one file of /etc
	// could replace all. Only addresses reach this kind.
	"dns": {files: []allowance{{replace, "/etc"}, {readFile, "/etc/resolv.conf /etc/resolv.conf.before-sluice"}}},
	"ntp": {programs: []string{"systemctl"}, folders: []string{"/etc/systemd/timesyncd.conf.d"},
		files: []allowance{{readTree, "/etc/chrony"}, {readTree | replace, "/etc/chrony/sources.d /etc/systemd/timesyncd.conf.d"}}},
	"ssh": {programs: []string{"sshd", "systemctl"}, signals: true,
		files: []allowance{{readTree, "/etc/ssh /run/sshd"}, {readFile, "/run/sshd.pid"}, {readTree | replace, "/etc/ssh/sshd_config.d"}}},
	"snmp": {programs: []string{"systemctl"}, folders: []string{"/etc/snmp/snmpd.conf.d"},
		files: []allowance{{readTree, "/etc/snmp"}, {readTree | replace, "/etc/snmp/snmpd.conf.d"}}},
}

// HostMay reports whether hostd handles requests of the kind.
func HostMay(kind string) bool {
	_, known := hostKinds[kind]
	return known
}

// Host prepares hostd and its programs for one kind of request. hostd is root without
// capabilities, because LimitThread has dropped them.
func Host(kind string) (Status, error) {
	k, known := hostKinds[kind]
	if !known {
		return Status{}, fmt.Errorf("there are no requests about %q", kind)
	}
	unix.Umask(0) // modes of files are set explicitly
	for _, folder := range k.folders {
		if _, err := os.Stat(filepath.Dir(folder)); err == nil {
			_ = os.Mkdir(folder, 0o755) // on failure, package settings reports the missing folder
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

// fitting masks rights that apply only to folders if path is a file.
func fitting(path string) uint64 {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return readFile | writeFile | execute | filesABI9
	}
	return ^uint64(0)
}
