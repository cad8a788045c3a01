// Package vault keeps secrets by reference: in an environment variable, in a
// file, both within what this process allows, or sealed in a column of the store under a key that is itself in the
// environment or in a file. It promises that a sealed value opens only under
// the key it was sealed with and only for the credential it was sealed for, and
// that no error of it holds a secret. Which credential to use is decided by
// others.
package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/papertrace/patra/internal/domain/credential"
	"github.com/papertrace/patra/internal/domain/problem"
)

// Where the sealing key is: 32 bytes in base64. The previous key only opens, so
// that what was sealed under it can be sealed anew.
const (
	EnvKey          = "PATRA_KEY"
	EnvKeyFile      = "PATRA_KEY_FILE"
	EnvPrevious     = "PATRA_KEY_PREVIOUS"
	EnvPreviousFile = "PATRA_KEY_PREVIOUS_FILE"
)

// ErrNoKey: nothing can be sealed or opened, since there is no key.
var ErrNoKey = problem.New("no sealing key: set "+EnvKey+" (32 bytes in base64) or "+EnvKeyFile, problem.Problem{
	Code: "no_sealing_key", Kind: problem.Usage,
	Next: "make one with `openssl rand -base64 32`, keep it where backups of the database do not go, and give it as " + EnvKey +
		" or in a file named by " + EnvKeyFile,
})

// Vault resolves, seals and opens secrets.
type Vault struct {
	getenv func(string) (string, bool)
}

// New returns a vault over an environment; nil is the process's own. The key is
// read when it is needed, so that nobody needs one who seals nothing.
func New(getenv func(string) (string, bool)) *Vault {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	return &Vault{getenv: getenv}
}

// maxFile bounds what is read of a file that holds a secret.
const maxFile = 64 << 10

// Resolve gets the secret of a credential.
func (v *Vault) Resolve(c credential.Credential) (credential.Secret, error) {
	s, err := v.resolve(c)
	if err == nil {
		err = credential.CheckSecret(s)
	}
	if err != nil {
		return credential.Secret{}, fmt.Errorf("credential %s of %s: %w", c.Name, c.Pool, err)
	}
	return s, nil
}

func (v *Vault) resolve(c credential.Credential) (credential.Secret, error) {
	switch c.Secret.Kind {
	case credential.SecretEnv:
		var parts []string
		for name := range strings.SplitSeq(c.Secret.Ref, ",") {
			text, err := v.variable(name)
			if err != nil {
				return credential.Secret{}, err
			}
			parts = append(parts, text)
		}
		return credential.NewSecret(strings.Join(parts, "\n")), nil
	case credential.SecretFile:
		b, err := v.file(c.Secret.Ref)
		if err != nil {
			return credential.Secret{}, err
		}
		return credential.NewSecret(strings.TrimSpace(string(b))), nil
	case credential.SecretSealed:
		return v.open(c)
	}
	return credential.Secret{}, fmt.Errorf("secrets of kind %q are not known", c.Secret.Kind)
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("file %s is longer than %d bytes", name, maxFile)
	}
	return b, nil
}

// A sealed value is: magic, version, four bytes that name the key, nonce and
// ciphertext. All before the nonce, and whose secret it is, are authenticated.
const (
	magic   = "PTRS"
	version = 1
	idSize  = 4
	header  = len(magic) + 1 + idSize
)

// Seal encrypts a secret for a credential.
func (v *Vault) Seal(c credential.Credential, s credential.Secret) (credential.SecretRef, error) {
	if err := credential.CheckSecret(s); err != nil {
		return credential.SecretRef{}, err
	}
	k, err := v.key(EnvKey, EnvKeyFile)
	if err != nil {
		return credential.SecretRef{}, err
	}
	head := append([]byte(magic), version)
	head = append(head, k.id[:]...)
	sealed := k.aead.Seal(bytes.Clone(head), nil, []byte(s.Reveal()), aad(head, c))
	// With its place: that one secret is used twice is nobody's business.
	mac := hmac.New(sha256.New, k.mac)
	fmt.Fprintf(mac, "%s/%s\n%s", c.Pool, c.Name, s.Reveal())
	return credential.SecretRef{Kind: credential.SecretSealed, Sealed: sealed, MAC: hex.EncodeToString(mac.Sum(nil)[:6])}, nil
}

// Current reports whether a sealed value is under the current key.
func (v *Vault) Current(r credential.SecretRef) (bool, error) {
	k, err := v.key(EnvKey, EnvKeyFile)
	if err != nil {
		return false, err
	}
	return len(r.Sealed) > header && bytes.Equal(r.Sealed[header-idSize:header], k.id[:]), nil
}

func (v *Vault) open(c credential.Credential) (credential.Secret, error) {
	b := c.Secret.Sealed
	if len(b) <= header || string(b[:len(magic)]) != magic {
		return credential.Secret{}, errors.New("the sealed value is damaged")
	}
	if n := b[len(magic)]; n != version {
		return credential.Secret{}, fmt.Errorf("sealed in form %d, which a newer patra knows", n)
	}
	head, id := b[:header], b[header-idSize:header]
	k, err := v.key(EnvKey, EnvKeyFile)
	if err == nil && !bytes.Equal(id, k.id[:]) {
		k, err = v.key(EnvPrevious, EnvPreviousFile)
	}
	switch {
	case errors.Is(err, ErrNoKey), err == nil && !bytes.Equal(id, k.id[:]):
		return credential.Secret{}, fmt.Errorf("sealed under key %x, which is neither %s nor %s: %w", id, EnvKey, EnvPrevious, ErrNoKey)
	case err != nil:
		return credential.Secret{}, err
	}
	plain, err := k.aead.Open(nil, nil, b[header:], aad(head, c))
	if err != nil {
		return credential.Secret{}, errors.New("the sealed value was changed, or belongs to another credential")
	}
	return credential.NewSecret(string(plain)), nil
}

// aad binds a sealed value to its credential: moved to another row it does not open.
func aad(head []byte, c credential.Credential) []byte {
	return fmt.Appendf(nil, "%s%s/%s", head, c.Pool, c.Name)
}

type key struct {
	id   [idSize]byte
	aead cipher.AEAD
	mac  []byte
}

// key reads a sealing key and derives from it what is used.
func (v *Vault) key(env, file string) (*key, error) {
	where := env
	text, ok := v.getenv(env)
	if !ok || text == "" {
		name, ok := v.getenv(file)
		if !ok || name == "" {
			return nil, ErrNoKey
		}
		b, err := readFile(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		where, text = file, string(b)
	}
	master, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(master) != 32 {
		return nil, fmt.Errorf("%s does not hold 32 bytes in base64; make one with: openssl rand -base64 32", where)
	}
	derive := func(what string, n int) ([]byte, error) { return hkdf.Key(sha256.New, master, nil, "patra "+what, n) }
	k := new(key)
	enc, err := derive("seal", 32)
	if err != nil {
		return nil, err
	}
	k.mac, err = derive("mac", 32)
	if err != nil {
		return nil, err
	}
	id, err := derive("id", idSize)
	if err != nil {
		return nil, err
	}
	copy(k.id[:], id)
	block, err := aes.NewCipher(enc)
	if err != nil {
		return nil, err
	}
	k.aead, err = cipher.NewGCMWithRandomNonce(block)
	return k, err
}
