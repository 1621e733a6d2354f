package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/show"
)

// applied is what a document did, or would do.
type applied struct {
	Params struct {
		Revision           uint64
		Unchanged, Diff    string
		Warnings, Problems []string
	}
}

func (c *client) applyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Make a YAML or JSON document the configuration",
		Long: `Make a YAML or JSON document the configuration. The difference to the
configuration in force is shown first; what is the same keeps its connections,
sessions and counters. All of it is applied or nothing.`,
		Example: "  sluice apply -f shop.yaml --dry-run\n  sluice apply -f shop.yaml --comment 'new backend'\n  sluice export | sed s/8080/8081/ | sluice apply -f -",
		Args:    exactly(0),
	}
	file := cmd.Flags().StringP("file", "f", "", "the document; - reads standard input")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the difference and change nothing")
	comment := cmd.Flags().String("comment", "", "why; kept in the history")
	cmd.MarkFlagRequired("file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		document, err := readDocument(cmd, *file)
		if err != nil {
			return err
		}
		return c.apply(cmd, *file, document, *dryRun, *comment)
	}
	return cmd
}

// maxDocument is the largest document worth sending.
const maxDocument = 16 << 20

func readDocument(cmd *cobra.Command, path string) ([]byte, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	document, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case len(document) > maxDocument:
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxDocument)
	}
	return document, nil
}

// apply shows the difference first. The change is then made only to the
// configuration the difference was shown for.
func (c *client) apply(cmd *cobra.Command, file string, document []byte, dryRun bool, comment string) error {
	query := url.Values{}
	if comment != "" {
		query.Set("comment", comment)
	}
	if c.showAPI && !dryRun || c.showYAML { // nothing is planned
		_, err := c.sendDocument(cmd.Context(), file, document, query, "")
		return err
	}
	plan, err := c.sendDocument(cmd.Context(), file, document, url.Values{"dry_run": {"true"}}, "")
	if err != nil {
		return err
	}
	planned, err := c.difference(cmd, plan)
	if err != nil {
		return err
	}
	unchanged := planned.Params.Unchanged == "true"
	if dryRun || unchanged && !c.json { // a program is told what applying answers, not planning
		return c.conclude(cmd, plan, planned, dryRun)
	}
	done, err := c.sendDocument(cmd.Context(), file, document, query, plan.header.Get("ETag"))
	if err != nil {
		return err
	}
	var result applied
	if err := done.into(&result); err != nil {
		return err
	}
	return c.conclude(cmd, done, result, false)
}

func (c *client) sendDocument(ctx context.Context, file string, document []byte, query url.Values, match string) (answer, error) {
	return c.do(ctx, request{method: http.MethodPut, path: "/config", query: query, body: document, files: []string{file}, kind: "application/yaml", match: match})
}

// difference reads an answer and shows what differs, but to programs.
func (c *client) difference(cmd *cobra.Command, a answer) (r applied, err error) {
	if err = a.into(&r); err == nil && !c.json {
		err = c.printDiff(cmd, r.Params.Diff)
	}
	return r, err
}

// conclude says what became of the document; warnings and problems go to stderr.
func (c *client) conclude(cmd *cobra.Command, a answer, r applied, dryRun bool) error {
	if c.json {
		return c.printJSON(cmd, a)
	}
	for _, text := range append(r.Params.Warnings, r.Params.Problems...) {
		fmt.Fprintf(cmd.ErrOrStderr(), "sluice: warning: %s\n", show.Clean(text))
	}
	out := cmd.OutOrStdout()
	var err error
	switch {
	case r.Params.Unchanged == "true":
		_, err = fmt.Fprintf(out, "Nothing to change: revision %d.\n", r.Params.Revision)
	case dryRun:
		_, err = fmt.Fprintln(out, "Dry run: nothing was changed.")
	default:
		_, err = fmt.Fprintf(out, "Applied: revision %d.\n", r.Params.Revision)
	}
	return err
}

func (c *client) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use: "export", Short: "Print the configuration as a document: YAML, or JSON with --json",
		Example: "  sluice export > sluice.yaml\n  sluice export --json", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{"format": {"yaml"}}
			if c.json {
				query.Set("format", "json")
			}
			a, err := c.do(cmd.Context(), request{method: http.MethodGet, path: "/config", query: query})
			return c.orJSON(cmd, a, err)
		},
	}
}

func (c *client) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Apply the file given to `sluice run --config` again",
		Example: "  sluice reload", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := c.do(cmd.Context(), request{method: http.MethodPost, path: "/config/reload"})
			if err != nil {
				return err
			}
			result, err := c.difference(cmd, a)
			if err != nil {
				return err
			}
			return c.conclude(cmd, a, result, false)
		},
	}
}
