package upkeep

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/backup"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// archiveTypes are the content types of uploads.
var archiveTypes = []string{"application/gzip", "application/x-gzip", "application/octet-stream"}

func (s *Resource) backupOperations() []*rest.Operation {
	if s.deps.Backups == nil {
		return nil
	}
	const one = "/system/backup/{backup}"
	return []*rest.Operation{
		rest.Op(rest.Get, "/system/backup", rbac.BackupMenu, "List backups", s.listBackups),
		rest.Op(rest.Post, "/system/backup", rbac.BackupCreate, "Create a backup", s.createBackup).Body(backupFields{}).Created().Outlives(), // contains the node key: the author of the passphrase can decrypt every secret
		rest.Long(rest.Get, one, rbac.BackupDownload, "Download a backup", s.downloadBackup),
		rest.Op(rest.Put, one, rbac.BackupUpload, "Upload a backup", s.uploadBackup).TakesFile(archiveTypes),
		rest.Op(rest.Delete, one, rbac.BackupDelete, "Delete a backup", s.deleteBackup),
		rest.Op(rest.Get, one+"/info", rbac.BackupMenu, "Get what a backup is of", s.getBackup),
		rest.Op(rest.Post, one+"/actions", rbac.BackupApply, "Apply a backup", s.applyBackup).Body(applyFields{}).Outlives(),
		rest.Op(rest.Post, "/system/factory", rbac.RootOnly, "Reset the appliance", s.factory).Body(factoryFields{}).Outlives(),
	}
}

// BackupItem describes a backup.
type BackupItem struct {
	Name      string `json:"name"`
	Date      string `json:"date" doc:"Creation time"`
	Version   string `json:"version" doc:"Release that created it"`
	Hostname  string `json:"hostname" doc:"Node that created it"`
	Size      int64  `json:"size" doc:"Bytes"`
	Encrypted string `json:"encrypted" enum:"true,false" doc:"true if it is encrypted with a passphrase; otherwise it can only be restored on its node"`
	Problem   string `json:"problem,omitempty" doc:"Reason why it cannot be used"`
}

func item(v backup.View) BackupItem {
	return BackupItem{Name: v.Name, Date: v.Date.Format(time.ANSIC), Version: v.Manifest.Version, Hostname: v.Manifest.Hostname, Size: v.Size,
		Encrypted: rest.Truth(v.Manifest.Encrypted), Problem: v.Problem}
}

// refused converts an error about backups into a rejection.
func refused(err error) error {
	var wrong *backup.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, backup.ErrNone):
		return rest.NotFound("%s", err)
	case errors.As(err, &wrong), errors.Is(err, backup.ErrExists):
		return rest.BadRequest("%s", err)
	case errors.Is(err, backup.ErrFull):
		return rest.Refuse(http.StatusConflict, "%s", err)
	}
	return err
}

func (s *Resource) listBackups(c *rest.Call) (rest.List[BackupItem], error) {
	list, err := s.deps.Backups.List()
	var out []BackupItem
	for _, v := range list {
		out = append(out, item(v))
	}
	return rest.NewList(c.Summary(), out), err
}

func (s *Resource) getBackup(c *rest.Call) (rest.Object[BackupItem], error) {
	v, err := s.deps.Backups.Get(c.Param("backup"))
	return rest.Object[BackupItem]{Description: c.Summary(), Params: item(v)}, refused(err)
}

// backupFields is the body for creating a backup.
type backupFields struct{}

// Params lists the fields for help responses and OpenAPI.
func (backupFields) Params() []field.Param {
	return []field.Param{
		rest.Needed("name", "Name: letters, digits, _ and -."),
		rest.Optional("passphrase", "Password to encrypt the backup, at least 12 bytes, which allows restoring it on another node. Without it, private keys stay encrypted for this node."),
	}
}

func (s *Resource) createBackup(c *rest.Call) (rest.Object[BackupItem], error) {
	body, err := c.Texts(backupFields{})
	if err == nil && body["name"] == "" {
		err = rest.BadRequest("name must not be blank")
	}
	if err == nil {
		err = refused(s.deps.Backups.Check(body["name"], body["passphrase"]))
	}
	if err == nil {
		err = c.Act()
	}
	if err != nil {
		return rest.Object[BackupItem]{}, err
	}
	c.MayTake(transferTime)
	v, err := s.deps.Backups.Create(c.Author(), body["name"], body["passphrase"])
	return rest.Object[BackupItem]{Description: c.Summary(), Params: item(v), Message: "The backup " + v.Name + " has been created."}, refused(err)
}

// transferTime bounds the transfer of an archive.
const transferTime = 10 * time.Minute

func (s *Resource) downloadBackup(c *rest.Call) (rest.Streamed, error) {
	name := c.Param("backup")
	v, err := s.deps.Backups.Get(name)
	if err != nil {
		return nil, refused(err)
	}
	if err := mayRead(c, v); err != nil {
		return nil, err
	}
	f, size, err := s.deps.Backups.Open(name)
	if err != nil {
		return nil, refused(err)
	}
	c.MayTake(transferTime)
	return rest.Download(f, size, name+".tar.gz"), nil
}

// mayRead refuses an archive with credentials of rules and checks if the API hides these
// from the caller. An archive encrypted with another user's passphrase reveals nothing to
// the caller.
func mayRead(c *rest.Call, v backup.View) error {
	if c.Veil() == (validate.Veil{}) || v.Manifest.Encrypted && !c.By.May(rbac.BackupCreate) {
		return nil
	}
	return rest.Refuse(http.StatusForbidden, "you may not download this backup: it has credentials of rules and health checks; that needs the permission %q, or %q and %q (an encrypted one may be downloaded without, by users who may not create backups)",
		rbac.ConfigApply, rbac.FarmModify, rbac.FarmguardianModify)
}

func (s *Resource) uploadBackup(c *rest.Call) (rest.Object[BackupItem], error) {
	upload, err := c.Upload(backup.MaxSize, archiveTypes)
	if err == nil {
		err = c.Act()
	}
	if err != nil {
		return rest.Object[BackupItem]{}, err
	}
	c.MayTake(transferTime)
	body, size := decoded(upload.Body, upload.Size)
	v, err := s.deps.Backups.Upload(c.Author(), c.Param("backup"), body, size)
	return rest.Object[BackupItem]{Description: c.Summary(), Params: item(v), Message: "The backup " + v.Name + " has been uploaded."}, refused(upload.Problem(err))
}

func (s *Resource) deleteBackup(c *rest.Call) (rest.Done, error) {
	name := c.Param("backup")
	if _, err := s.deps.Backups.Get(name); err != nil {
		return rest.Done{}, refused(err)
	}
	if err := c.Act(); err != nil {
		return rest.Done{}, err
	}
	err := s.deps.Backups.Delete(c.Author(), name)
	return rest.NewDone(c.Summary(), "The backup "+name+" has been deleted."), refused(err)
}

// applyFields is the body of an action on a backup.
type applyFields struct{}

// Params lists the fields for help responses and OpenAPI.
func (applyFields) Params() []field.Param {
	return []field.Param{
		{Name: "action", PossibleValues: []string{"apply"}, Options: []string{"non_blank", "required"}, Description: "Action: apply restores the backup completely in one step. The previous state is saved as the backup " + backup.Before + "."},
		{Name: "force", PossibleValues: []string{"true", "false"}, Description: "Restore even if the backup is of another release or resolvers would reject a signed zone afterwards."},
		{Name: "system", PossibleValues: []string{"true", "false"}, Description: "Set to false to keep this machine's settings (system: in documents: name servers, time, sshd, SNMP, proxy, syslog, API listener and aliases), e.g. for a backup of another machine. Defaults to true."},
		rest.Optional("passphrase", "Password that encrypted the backup."),
	}
}

// Restored is the result of a restoration.
type Restored struct {
	Revision uint64 `json:"revision"`
	Diff     string `json:"diff" doc:"Changes in the document"`
	Before   string `json:"before" doc:"Backup of the previous state"`
	// Warnings are about the configuration, e.g. checks that cannot run here.
	Warnings []string `json:"warnings" doc:"Settings that are allowed but cannot work"`
}

func (s *Resource) applyBackup(c *rest.Call) (rest.Object[Restored], error) {
	none := rest.Object[Restored]{}
	body, err := c.Object(applyFields{})
	if err != nil {
		return none, err
	}
	r := backup.Request{Name: c.Param("backup"), Root: c.By.Who.Root(), Local: c.By.Who.Root() && auth.Local(c.Request), Dry: c.Dry()}
	if body["action"] != "apply" {
		return none, rest.BadRequest("action: allowed is apply")
	}
	machine := true
	if err := errors.Join(rest.SetTruth(body, "force", &r.Force), rest.SetTruth(body, "system", &machine)); err != nil {
		return none, rest.BadRequest("%s", err)
	}
	r.KeepMachine = !machine
	text, ok := body["passphrase"].(string)
	if !ok && body["passphrase"] != nil {
		return none, rest.BadRequest("passphrase must be a text")
	}
	r.Passphrase = text
	if _, err := c.Expected(); err != nil {
		return none, err
	}
	if r.Force {
		c.Context = apply.Force(c.Context)
	}
	c.MayTake(transferTime)
	done, err := s.deps.Backups.Apply(c.Context, c.Author(), r)
	if wrong := new(backup.Error); errors.As(err, &wrong) || errors.Is(err, backup.ErrNone) || errors.Is(err, backup.ErrFull) {
		return none, refused(err)
	}
	kept, err := c.Keep(done.Result, err, 0)
	if err != nil {
		return none, err
	}
	s.restart()
	warnings := make([]string, len(kept.Warnings))
	for i := range kept.Warnings {
		warnings[i] = kept.Warnings[i].Error()
	}
	return rest.Object[Restored]{Description: c.Summary(), Params: Restored{done.Revision.Number, c.DiffOf(done.Result), done.Before, warnings},
		Message: "The backup " + r.Name + " has been restored. Log-ins end now, and the API is away for a moment.",
		Warning: strings.Join(append(done.Left, warnings...), " ")}, nil
}
