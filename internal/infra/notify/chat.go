package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/papertrace/patra/internal/app/alert"
)

// sendSlack writes into a channel of Slack by an incoming webhook. The three
// characters that Slack reads as markup are escaped, so that nothing that an upstream
// has said calls everybody in the channel.
func (s *Sender) sendSlack(ctx context.Context, t *target, m alert.Message) error {
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(plain(m))
	_, err := s.post(ctx, t.address.Reveal(), "application/json", map[string]string{"text": text})
	return err
}

// sendDingTalk writes into a group of DingTalk by a custom robot. A robot that wants
// its calls signed gets the time in milliseconds, and over it and the secret an
// HMAC-SHA256 keyed by the secret, both in the address.
func (s *Sender) sendDingTalk(ctx context.Context, t *target, m alert.Message) error {
	u, err := url.Parse(t.address.Reveal())
	if err != nil {
		return errors.New("its address cannot be read")
	}
	if secret := t.signs.Reveal(); secret != "" {
		at := strconv.FormatInt(time.Now().UnixMilli(), 10)
		q := u.Query()
		q.Set("timestamp", at)
		q.Set("sign", sum(secret, at+"\n"+secret))
		u.RawQuery = q.Encode()
	}
	answer, err := s.post(ctx, u.String(), "application/json", map[string]any{
		"msgtype": "text", "text": map[string]string{"content": plain(m)}, "at": map[string]bool{"isAtAll": false},
	})
	if err != nil {
		return err
	}
	var said struct {
		Code    *int   `json:"errcode"`
		Message string `json:"errmsg"`
	}
	return taken(json.Unmarshal(answer, &said), said.Code, said.Message, answer)
}

// sendFeishu writes into a group of Feishu or Lark by a custom bot. One that wants its
// calls signed gets the time in seconds, and the HMAC-SHA256 of nothing keyed by the
// time and the secret, both in the body. Its texts know tags, which call people: the
// signs they are made of are replaced.
func (s *Sender) sendFeishu(ctx context.Context, t *target, m alert.Message) error {
	text := strings.NewReplacer("<", "‹", ">", "›").Replace(plain(m))
	doc := map[string]any{"msg_type": "text", "content": map[string]string{"text": text}}
	if secret := t.signs.Reveal(); secret != "" {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		doc["timestamp"] = at
		doc["sign"] = sum(at+"\n"+secret, "")
	}
	answer, err := s.post(ctx, t.address.Reveal(), "application/json", doc)
	if err != nil {
		return err
	}
	var said struct {
		Code    *int   `json:"code"`
		Message string `json:"msg"`
		// Older bots answer in these words.
		OldCode    *int   `json:"StatusCode"`
		OldMessage string `json:"StatusMessage"`
	}
	err = json.Unmarshal(answer, &said)
	if said.Code == nil {
		said.Code = said.OldCode
		said.Message = said.OldMessage
	}
	return taken(err, said.Code, said.Message, answer)
}

// taken says whether a chat that answered 200 has taken a message: only if it says so.
func taken(err error, code *int, message string, answer []byte) error {
	switch {
	case err != nil || code == nil:
		return fmt.Errorf("answered what is no answer of a bot: %s", excerpt(answer))
	case *code != 0:
		return fmt.Errorf("refused with code %d: %s", *code, message)
	}
	return nil
}

// plain is a message as text.
func plain(m alert.Message) string { return strings.Join(m.Lines(), "\n") }

// sum is the HMAC-SHA256 of a text, in base64.
func sum(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text)) //nolint:errcheck // it never fails
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
