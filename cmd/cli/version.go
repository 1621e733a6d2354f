package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/sluicelb/sluice"
	"github.com/sluicelb/sluice/cmd/cli/client"
	"github.com/sluicelb/sluice/cmd/cli/command"
	"github.com/sluicelb/sluice/cmd/cli/show"
)

func versionCommand(c *command.Line) *cobra.Command {
	var licences bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version of this program and of a running appliance",
		Example: "  sluice version\n  sluice version --licences", Args: command.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if licences {
				_, err := io.WriteString(cmd.OutOrStdout(), sluice.Licences+sluice.GUILicences)
				return err
			}
			running := runningVersion(c, cmd)
			if c.JSON {
				raw, err := json.MarshalIndent(map[string]any{"version": client.Version, "running": running}, "", "  ")
				if err != nil {
					return err
				}
				return c.PrintJSON(cmd, client.Response{Body: append(raw, '\n')})
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "sluice %s\n", client.Version)
			if running != nil && *running != client.Version {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "running: %s\n", show.Clean(*running))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&licences, "licences", false, "print the licence texts of the libraries in this program")
	return cmd
}

// runningVersion returns the version of the appliance, or nil without one.
func runningVersion(c *command.Line, cmd *cobra.Command) *string {
	var body struct {
		Params struct {
			Version string `json:"sluice_version"`
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), command.CompletionTimeout)
	defer cancel()
	a, err := c.Get(ctx, "/system/version")
	if err != nil || a.Decode(&body) != nil {
		return nil
	}
	return &body.Params.Version
}
