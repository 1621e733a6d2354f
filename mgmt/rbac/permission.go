package rbac

import (
	"slices"
	"strings"
)

// Permission is the permission that a call needs: section and name, e.g. "farm.create".
type Permission string

// Permissions that are in no role.
const (
	// Nobody is the zero value. A route without a permission is closed, because no user has
	// this one.
	Nobody Permission = ""
	// Public is the permission that even an unknown client has, e.g. to log in through
	// another service.
	Public Permission = "public"
	// Open is the permission that every authenticated user has.
	Open Permission = "open"
	// RootOnly is the permission that only root has.
	RootOnly Permission = "root"
)

// The permissions of roles. The product family defines the sections; config, history, trace
// and program are additions of Sluice.
const (
	FarmMenu        Permission = "farm.menu"
	FarmCreate      Permission = "farm.create"
	FarmModify      Permission = "farm.modify"
	FarmAction      Permission = "farm.action"
	FarmMaintenance Permission = "farm.maintenance"
	FarmDelete      Permission = "farm.delete"

	FarmguardianMenu   Permission = "farmguardian.menu"
	FarmguardianModify Permission = "farmguardian.modify"

	IPDSMenu   Permission = "ipds.menu"
	IPDSModify Permission = "ipds.modify"
	IPDSAction Permission = "ipds.action"

	CertificateMenu     Permission = "certificate.menu"
	CertificateShow     Permission = "certificate.show"
	CertificateCreate   Permission = "certificate.create"
	CertificateUpload   Permission = "certificate.upload"
	CertificateDownload Permission = "certificate.download"
	CertificateDelete   Permission = "certificate.delete"

	InterfaceMenu   Permission = "interface.menu"
	InterfaceModify Permission = "interface.modify"

	InterfaceVirtualCreate Permission = "interface-virtual.create"
	InterfaceVirtualModify Permission = "interface-virtual.modify"
	InterfaceVirtualAction Permission = "interface-virtual.action"
	InterfaceVirtualDelete Permission = "interface-virtual.delete"

	AliasMenu   Permission = "alias.menu"
	AliasList   Permission = "alias.list"
	AliasModify Permission = "alias.modify"
	AliasDelete Permission = "alias.delete"

	BackupMenu     Permission = "backup.menu"
	BackupCreate   Permission = "backup.create"
	BackupDownload Permission = "backup.download"
	BackupUpload   Permission = "backup.upload"
	BackupApply    Permission = "backup.apply"
	BackupDelete   Permission = "backup.delete"

	LogMenu     Permission = "log.menu"
	LogShow     Permission = "log.show"
	LogDownload Permission = "log.download"

	SupportsaveMenu     Permission = "supportsave.menu"
	SupportsaveDownload Permission = "supportsave.download"

	SystemMenu   Permission = "system-service.menu"
	SystemModify Permission = "system-service.modify"

	NotificationMenu   Permission = "notification.menu"
	NotificationShow   Permission = "notification.show"
	NotificationModify Permission = "notification.modify"
	NotificationAction Permission = "notification.action"
	NotificationTest   Permission = "notification.test"

	ClusterMenu        Permission = "cluster.menu"
	ClusterCreate      Permission = "cluster.create"
	ClusterModify      Permission = "cluster.modify"
	ClusterMaintenance Permission = "cluster.maintenance"
	ClusterDelete      Permission = "cluster.delete"

	UserMenu   Permission = "rbac-user.menu"
	UserList   Permission = "rbac-user.list"
	UserShow   Permission = "rbac-user.show"
	UserCreate Permission = "rbac-user.create"
	UserModify Permission = "rbac-user.modify"
	UserDelete Permission = "rbac-user.delete"

	GroupMenu   Permission = "rbac-group.menu"
	GroupList   Permission = "rbac-group.list"
	GroupShow   Permission = "rbac-group.show"
	GroupCreate Permission = "rbac-group.create"
	GroupModify Permission = "rbac-group.modify"
	GroupDelete Permission = "rbac-group.delete"

	RoleMenu   Permission = "rbac-role.menu"
	RoleShow   Permission = "rbac-role.show"
	RoleCreate Permission = "rbac-role.create"
	RoleModify Permission = "rbac-role.modify"
	RoleDelete Permission = "rbac-role.delete"

	ConfigShow  Permission = "config.show"
	ConfigApply Permission = "config.apply"

	HistoryShow     Permission = "history.show"
	HistoryRollback Permission = "history.rollback"

	TraceShow Permission = "trace.show"

	// ProgramSet allows users to choose which programs are started, and with which arguments:
	// in commands of checks, and as the hook of ACME.
	ProgramSet Permission = "program.set"
)

// permissions lists all permissions of roles, in the order in which they are shown.
var permissions = []Permission{
	FarmMenu, FarmCreate, FarmModify, FarmAction, FarmMaintenance, FarmDelete,
	FarmguardianMenu, FarmguardianModify,
	IPDSMenu, IPDSModify, IPDSAction,
	CertificateMenu, CertificateShow, CertificateCreate, CertificateUpload, CertificateDownload, CertificateDelete,
	InterfaceMenu, InterfaceModify,
	InterfaceVirtualCreate, InterfaceVirtualModify, InterfaceVirtualAction, InterfaceVirtualDelete,
	AliasMenu, AliasList, AliasModify, AliasDelete,
	BackupMenu, BackupCreate, BackupDownload, BackupUpload, BackupApply, BackupDelete,
	LogMenu, LogShow, LogDownload,
	SupportsaveMenu, SupportsaveDownload,
	SystemMenu, SystemModify,
	NotificationMenu, NotificationShow, NotificationModify, NotificationAction, NotificationTest,
	ClusterMenu, ClusterCreate, ClusterModify, ClusterMaintenance, ClusterDelete,
	UserMenu, UserList, UserShow, UserCreate, UserModify, UserDelete,
	GroupMenu, GroupList, GroupShow, GroupCreate, GroupModify, GroupDelete,
	RoleMenu, RoleShow, RoleCreate, RoleModify, RoleDelete,
	ConfigShow, ConfigApply,
	HistoryShow, HistoryRollback,
	TraceShow,
	ProgramSet,
}

// Permissions lists all permissions of roles, section by section.
func Permissions() []Permission { return slices.Clone(permissions) }

// Known reports whether a route may need it.
func (p Permission) Known() bool {
	return p == Public || p == Open || p == RootOnly || slices.Contains(permissions, p)
}

// Section returns the part of a permission before the dot.
func (p Permission) Section() string { section, _, _ := strings.Cut(string(p), "."); return section }

// Name returns the part of a permission after the dot, empty for a permission of no role.
func (p Permission) Name() string { _, name, _ := strings.Cut(string(p), "."); return name }

// shows reports whether the permission allows reading only.
func (p Permission) shows() bool {
	switch p.Name() {
	case "menu", "list", "show":
		return true
	}
	return false
}
