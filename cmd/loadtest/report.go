package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
)

// textReport is a report that people can read too.
type textReport interface{ WriteText(w io.Writer) error }

func show(w io.Writer, report textReport, asJSON bool) error {
	if !asJSON {
		return report.WriteText(w)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// verdict is a report that says whether rankgate did all as it must.
type verdict interface {
	textReport
	Right() bool
}

// judge tries rankgate, shows what was found, and fails where that is not right. A wrong configuration is a wrong use.
func judge(cmd *cobra.Command, validate func() error, try func(context.Context) (verdict, error), asJSON bool) error {
	if err := validate(); err != nil {
		return err
	}
	report, err := try(cmd.Context())
	if err != nil {
		return failure{err}
	}
	if err := show(cmd.OutOrStdout(), report, asJSON); err != nil || !report.Right() {
		return failure{err}
	}
	return nil
}
