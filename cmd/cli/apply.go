package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func (c *client) applyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Replace the configuration by a YAML or JSON document",
		Long: `Replace the configuration by a YAML or JSON document. The difference to the
running configuration is shown first; unchanged objects keep their connections,
sessions and counters. The document is applied as a whole or not at all.

Farms and checks that the document does not name are deleted. The deletions are
shown with the traffic they end, and on a terminal you are asked before anything
is deleted. Without a terminal a document that deletes something is refused
unless --yes is given. A document that deletes nothing is applied at once.

With --merge the document holds a part: farms and checks with a new name are
added, those with a known name are replaced, and all others stay.

-f may be repeated and may be a directory: its files *.yaml, *.yml and *.json
are read in the order of their names. All files together form one document.`,
		Example: "  sluice apply -f shop.yaml --dry-run\n  sluice apply -f shop.yaml --comment 'new backend'\n  sluice apply -f shop.yaml --merge\n  sluice apply -f /etc/sluice/farms --yes\n  sluice apply -f farms.yaml -f checks.yaml\n  sluice export | sed s/8080/8081/ | sluice apply -f -",
		Args:    exactly(0),
	}
	files := cmd.Flags().StringArrayP("file", "f", nil, "the document, or a directory of documents; - reads standard input; may be repeated")
	merge := cmd.Flags().Bool("merge", false, "the document is partial: keep farms and checks it does not name")
	dryRun := cmd.Flags().Bool("dry-run", false, "show the difference and change nothing")
	comment := cmd.Flags().String("comment", "", "reason for the change, kept in the history")
	cmd.MarkFlagRequired("file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		all, err := readDocuments(cmd, *files)
		if err != nil {
			return err
		}
		query := url.Values{}
		if *merge {
			query.Set("merge", "true")
		}
		return all.explained(c.apply(cmd, all, query, *dryRun, *comment))
	}
	return cmd
}

// apply shows the difference first. The change then applies only to the configuration that
// the difference was computed for.
func (c *client) apply(cmd *cobra.Command, all *documents, query url.Values, dryRun bool, comment string) error {
	tried := request{query: query}.tried().query
	if comment != "" {
		query.Set("comment", comment)
	}
	if c.showAPI && !dryRun || c.showYAML { // nothing is planned
		_, err := c.sendDocument(cmd.Context(), all, query, "")
		return err
	}
	plan, err := c.sendDocument(cmd.Context(), all, tried, "")
	if err != nil {
		return err
	}
	planned, err := c.difference(cmd, plan)
	if err != nil {
		return err
	}
	unchanged := planned.Params.Unchanged == "true"
	if dryRun || unchanged && !c.json { // programs get the response of applying, not of planning
		return c.conclude(cmd, plan, planned, dryRun)
	}
	if !c.yes {
		if err := c.ask(c.asker(), &planned.Params); err != nil {
			return err
		}
		c.yes = true // already confirmed
	}
	done, err := c.sendDocument(cmd.Context(), all, query, plan.header.Get("ETag"))
	if err != nil {
		return err
	}
	var result applied
	if err := done.into(&result); err != nil {
		return err
	}
	return c.conclude(cmd, done, result, false)
}

func (c *client) sendDocument(ctx context.Context, all *documents, query url.Values, match string) (answer, error) {
	return c.do(ctx, request{method: http.MethodPut, path: "/config", query: query, body: all.text, files: all.names(), kind: documentType, match: match})
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
