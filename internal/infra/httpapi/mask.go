package httpapi

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/papertrace/patra/internal/app/control"
)

// format writes answers. Texts that upstreams, packs and people have put into what is
// kept, such as the reason of a gap, may hold a secret or somebody's address: both are
// taken out of every answer but of records, to which addresses belong, and in which
// no stranger's secret may change a byte.
func (d *Door) format() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			if _, records := v.(control.ChangeList); !records {
				b, err = d.masked(b)
			}
			if err != nil {
				return err
			}
			_, err = w.Write(append(b, '\n'))
			return err
		},
		Unmarshal: json.Unmarshal,
	}
}

// masked takes secrets and mail addresses out of the texts of a document.
func (d *Door) masked(doc []byte) ([]byte, error) {
	in := jsontext.NewDecoder(bytes.NewReader(doc))
	var out bytes.Buffer
	to := jsontext.NewEncoder(&out, jsontext.EscapeForHTML(true))
	for {
		token, err := in.ReadToken()
		if err == io.EOF { //nolint:errorlint // as it is documented
			return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
		}
		if err != nil {
			return nil, err
		}
		if token.Kind() == '"' {
			text := control.MaskMail(d.redact(token.String()))
			token = jsontext.String(text)
		}
		if err := to.WriteToken(token); err != nil {
			return nil, err
		}
	}
}
