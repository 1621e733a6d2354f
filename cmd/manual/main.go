// Command manual writes what is installed beside the program: the manual pages and
// the completion of shells. It is run when the program is built, so that this fits it
// and who installs needs nothing else.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/sluicelb/sluice/cmd/appliance"
	"github.com/sluicelb/sluice/cmd/cli"
)

func main() {
	version := flag.String("version", cli.Version, "version in the pages")
	date := flag.String("date", time.Now().Format(time.DateOnly), "date in the pages, YYYY-MM-DD")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: manual [-version V] [-date DAY] DIR\n\nwrites below DIR what belongs below /usr/share")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	day, err := time.Parse(time.DateOnly, *date)
	if err == nil {
		err = write(flag.Arg(0), *version, day)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

// write writes all of it below dir.
func write(dir, version string, day time.Time) error {
	root := cli.Root(appliance.Commands()...)
	cli.ForManual(root)
	header := doc.GenManHeader{Source: "Sluice " + version, Manual: "Sluice", Date: &day}
	if err := pages(root, filepath.Join(dir, "man"), header); err != nil {
		return err
	}
	if err := guide(filepath.Join(dir, "man"), header); err != nil {
		return err
	}
	for name, write := range completions {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := write(root, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// pages writes the pages of all commands (section 8) and of documents (section 5).
func pages(root *cobra.Command, dir string, header doc.GenManHeader) error {
	for section, command := range map[string]*cobra.Command{"8": root, "5": cli.DocumentPage()} {
		folder := filepath.Join(dir, "man"+section)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		of := header
		of.Section = section
		if err := doc.GenManTree(command, &of, folder); err != nil {
			return err
		}
	}
	return nil
}

// completions are the scripts for shells by where they lie below the folder
// for shared files, in which each shell looks for them.
var completions = map[string]func(root *cobra.Command, file string) error{
	"bash-completion/completions/sluice":    func(c *cobra.Command, file string) error { return c.GenBashCompletionFileV2(file, true) },
	"zsh/vendor-completions/_sluice":        func(c *cobra.Command, file string) error { return c.GenZshCompletionFile(file) },
	"fish/vendor_completions.d/sluice.fish": func(c *cobra.Command, file string) error { return c.GenFishCompletionFile(file, true) },
}

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
