package hook_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/mgmt/hook"
	"github.com/sluicelb/sluice/sysnet/programs"
)

// starter records a call and answers it.
type starter struct {
	call  programs.Call
	files []string // their contents
	end   programs.End
	err   error
}

func (s *starter) Run(_ context.Context, c programs.Call, files ...*os.File) (programs.End, error) {
	s.call, s.files = c, nil
	for _, f := range files {
		b, _ := io.ReadAll(f)
		s.files = append(s.files, string(b))
	}
	return s.end, s.err
}

func TestProgramIsPassedWithItsFolder(t *testing.T) {
	p := program(t, "echo it")
	must(t, os.WriteFile(filepath.Join(p.Folder, "credentials.ini"), []byte("key"), 0o600))
	must(t, os.WriteFile(filepath.Join(p.Folder, ".hidden"), nil, 0o600))
	must(t, os.Mkdir(filepath.Join(p.Folder, "folder"), 0o700))
	must(t, os.Symlink("/etc/passwd", filepath.Join(p.Folder, "link")))
	s := &starter{end: programs.End{Output: []byte("said\n it")}}
	said, err := p.Run(t.Context(), hook.Call{Args: []string{"a"}, Limit: enough, By: s})
	if said != "said it" || err != nil {
		t.Errorf("got %q, %v, want %q", said, err, "said it")
	}
	if c := s.call; c.File != p.Name || c.Name != "./"+p.Name || !slices.Equal(c.Args, []string{"a"}) || !slices.Equal(c.Beside, []string{"credentials.ini"}) {
		t.Errorf("%+v", c)
	}
	if len(s.files) != 2 || s.files[1] != "key" {
		t.Errorf("%q", s.files)
	}
}

func TestEndsOfProgramsThatOthersStart(t *testing.T) {
	p := program(t, "echo it")
	s := &starter{}
	for _, c := range []struct {
		end  programs.End
		err  error
		says string
	}{
		{end: programs.End{Exit: 3}, says: "exit status 3"},
		{end: programs.End{Signal: 11}, says: "segmentation fault"},
		{end: programs.End{Late: true}, says: "not done within"},
		{end: programs.End{Gone: true}, says: "nobody waited"},
		{end: programs.End{Excess: "it used more than 1 MiB of memory"}, says: "ended: it used more than 1 MiB"},
		{end: programs.End{Unstarted: "64 programs run already"}, says: "64 programs run already"},
		{err: programs.ErrUnavailable, says: "progd"},
	} {
		s.end, s.err = c.end, c.err
		_, err := p.Run(t.Context(), hook.Call{Limit: enough, By: s})
		wants(t, err, c.says)
		if lost := c.err != nil || c.end.Unstarted != ""; errors.As(err, new(*hook.StartError)) != lost {
			t.Errorf("%s: that it did not run is %t, want %t", c.says, !lost, lost)
		}
	}
}
