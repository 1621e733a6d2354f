package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func checkCommand(c *command.Line) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check -f FILE", Short: "Check a YAML or JSON document without a running appliance",
		Long: `Check a YAML or JSON document by the rules of sluice apply, without a running
appliance, and print each error with its line. Some rules need an appliance and
are checked when the document is applied: the existence of certificates, the
addresses of host names, and conflicts of addresses. sluice.yaml(5) explains
the fields.`,
		Example: "  sluice check -f shop.yaml\n  sluice check -f shop.yaml --json\n  sluice export | sluice check -f -",
		Args:    command.NoSuchCommand,
	}
	files := cmd.Flags().StringArrayP("file", "f", nil, "the document, or a directory of documents; - reads standard input; may be repeated")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(*files) == 0 {
			return command.Usagef("give a document with -f, or a sub-command: %s", strings.Join(command.SubCommandNames(cmd), ", "))
		}
		all, err := readDocuments(cmd, *files)
		if err != nil {
			return err
		}
		rules := validate.Rules{Prefixes: validate.SystemPrefixes}
		cfg, err := document.Load(all.text, rules)
		var warnings []field.Error
		if err == nil {
			warnings = rules.Warnings(cfg)
		}
		if c.JSON {
			return printVerdict(c, cmd, err, warnings)
		}
		if err != nil {
			return fmt.Errorf("%s cannot be applied:\n%s", all, all.located(err.Error()))
		}
		for i := range warnings {
			command.Warn(cmd, warnings[i].Error())
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s can be applied: %s.\n", show.Clean(all.String()), contents(cfg))
		return err
	}
	return cmd
}

// contents describes the size of a configuration.
func contents(cfg *farm.Config) string {
	backends := 0
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			backends += len(g.Backends())
		}
	}
	return command.Count(len(cfg.Farms), "farm") + ", " + command.Count(backends, "backend")
}

// finding is one error or warning in JSON output.
type finding struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func printVerdict(c *command.Line, cmd *cobra.Command, broken error, warnings []field.Error) error {
	verdict := struct {
		Valid    bool      `json:"valid"`
		Errors   []finding `json:"errors"`
		Warnings []finding `json:"warnings"`
	}{broken == nil, findings(broken), []finding{}}
	for i := range warnings {
		verdict.Warnings = append(verdict.Warnings, findings(&warnings[i])...)
	}
	raw, err := json.MarshalIndent(verdict, "", "  ")
	if err != nil {
		return err
	}
	if err := c.PrintJSON(cmd, client.Response{Body: append(raw, '\n')}); err != nil || broken == nil {
		return err
	}
	return command.ErrInvalid
}

// findings returns the errors of a document with their positions.
func findings(err error) []finding {
	out := []finding{}
	if err == nil {
		return out
	}
	for _, one := range document.Problems(err) {
		f := finding{Message: one.Error()}
		if positioned, ok := errors.AsType[*document.Error](one); ok {
			f.Line, f.Column, f.Message = positioned.Line, positioned.Column, positioned.Err.Error()
		}
		if broken, ok := errors.AsType[*field.Error](one); ok {
			f.Path, f.Field, f.Message = broken.Path, broken.Field, broken.Message
		}
		out = append(out, f)
	}
	return out
}
