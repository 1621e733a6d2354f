package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra/doc"
)

// guideText is the guide by task, in markdown, without the line that titles a page.
//
//go:embed guide.md
var guideText string

// guide writes the guide, sluice-guide(7).
func guide(dir string, header doc.GenManHeader) error {
	folder := filepath.Join(dir, "man7")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	title := fmt.Sprintf("%% %q %q %q %q %q\n", strings.ToUpper("sluice-guide"), "7", header.Date.Format("Jan 2006"), header.Source, header.Manual)
	return os.WriteFile(filepath.Join(folder, "sluice-guide.7"), md2man.Render([]byte(title+guideText)), 0o644)
}
