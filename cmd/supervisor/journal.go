package supervisor

import (
	"fmt"
	"os"
	"syscall"
)

// journalName is the file in which netd keeps the values sysctls had before it
// set them.
const journalName = "netd.journal"

// openJournal opens that file, which stays when the supervisor ends, however it
// ends. It is opened here because netd has no right to the data directory, and
// with mgmt's rights because the directory is mgmt's: what it finds there under
// this name is never followed elsewhere.
func openJournal(d *data, o owners) (f *os.File, err error) {
	err = o.asManager(func() error {
		f, err = os.OpenFile(d.within(journalName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", d.path, err)
	}
	if err := regular(d, f); err != nil {
		return nil, err
	}
	return f, nil
}

// regular closes a journal that is no file of its own and says so.
func regular(d *data, f *os.File) error {
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		_ = f.Close()
		return fmt.Errorf("data directory %s: %s is not a regular file", d.path, journalName)
	}
	return nil
}
