use super::*;

fn redactor() -> Redactor {
    Redactor::new(RedactionKey::of(&[7; 32]), Rules::default()).0
}

fn payload(redactor: &Redactor, json: &str) -> String {
    redactor.payload(Raw { head: json.as_bytes(), len: json.len() as u64 }).json().to_owned()
}

/// Documents with a secret that holds `S3cr3t` or a value beside it.
#[test]
fn secrets_go_and_stay_gone() {
    let r = redactor();
    for json in [
        r#"{"password":"S3cr3tValue"}"#,
        r#"{"x-api-key":"S3cr3tValue","n":1.00}"#,
        r#"{"env":{"ANY":"S3cr3tValue","PATH":"/bin"}}"#,
        r#"{"env":["ANY=S3cr3tValue"]}"#,
        r#"{"password":{"truncated":true,"originalBytes":"S3cr3tValue"}}"#,
        r#"[{"name":"API_KEY","value":"S3cr3tValue"}]"#,
        r#"[{"value":"S3cr3tValue","name":"API_KEY"}]"#,
        r#"["tool","--password","S3cr3tValue"]"#,
        r#"["mysql","-pS3cr3tValue"]"#,
        r#"["curl","-u","bob:S3cr3tValue"]"#,
        r#"["curl","-u","bob:\"S3cr3tValue"]"#,
        r#"["mysql","-p\"S3cr3tValue"]"#,
        r#"["tool","\u002d-password","S3cr3tValue"]"#,
        r#"{"headers":[["Authorization","Bearer S3cr3tValue"]]}"#,
        r#"{"cookie":"sid=S3cr3tValue; theme=dark"}"#,
        r#"{"t":"postgres://bob:S3cr3tValue@db/x"}"#,
        r#"{"t":"https://h/x?access_token=S3cr3tValue&b=1"}"#,
        r#"{"t":"curl -H 'Authorization: Bearer S3cr3tValue' https://x"}"#,
        r#"{"t":"A=1\nexport FOO_TOKEN=S3cr3tValue\nB=2"}"#,
        r#"{"t":"{\"a\":\"{\\\"apiKey\\\":\\\"S3cr3tValue\\\"}\"}"}"#,
        r#"{"credentials":{"a":["S3cr3tValue",{"b":"S3cr3tValue"}]}}"#,
    ] {
        let out = payload(&r, json);
        assert!(!out.contains("S3cr3t") && out.contains("[redacted:"), "{json} -> {out}");
        assert_eq!(payload(&r, &out), out, "twice");
    }
}

#[test]
fn everything_else_keeps_its_bytes() {
    let r = redactor();
    for json in [
        "{ \"a\" : 1.00e+5, \"a\":\"\\u00e9\\/\" }\n",
        r#"{"max_tokens":100,"nextPageToken":"CAEQAA","author":"Bob","primary_key":"id","key":"PROJ-1","tokens":12}"#,
        r#"{"properties":{"password":{"type":"string","description":"the password"}},"required":["password","token"]}"#,
        r#"{"password":null,"secret":"","token":true}"#,
        r#"["sk-learn is a library","bearer of bad news","basic knowledge","https://medium.com/@user/post","bob@example.com"]"#,
        r#"["550e8400-e29b-41d4-a716-446655440000","da39a3ee5e6b4b0d3255bfef95601890afd80709","Cookie: 200g flour"]"#,
        r#"["const token = getToken()","--token to specify the token","http://localhost:3000/@fs/x","a::token::b"]"#,
    ] {
        assert_eq!(payload(&r, json), json);
    }
}

#[test]
fn equal_secrets_are_equal_and_placeholders_stay() {
    let r = redactor();
    let out = payload(&r, r#"{"password":"hunter2","deep":{"secret":"hunter2"},"token":"hunter3"}"#);
    let hashes: Vec<&str> =
        out.split("[redacted:").skip(1).filter_map(|t| t.split([':', ']']).nth(1)).collect();
    assert_eq!(hashes.len(), 3);
    assert!(hashes[0] == hashes[1] && hashes[1] != hashes[2], "{out}");
    for kept in [
        r#""[redacted:api-key:0123456789ab]""#,
        r#"{"password":{"truncated":true,"originalBytes":91}}"#,
        r#"{"authorization":"Bearer [redacted:bearer:0123456789ab]"}"#,
    ] {
        assert_eq!(payload(&r, kept), kept);
    }
}

#[test]
fn cut_and_broken_input_is_closed_and_marked() {
    let r = redactor();
    let cut = |head: &str| r.payload(Raw { head: head.as_bytes(), len: 999 });
    for (head, json) in [
        (r#"{"a":1,"b":[2,"lost"#, r#"{"a":1,"b":[2,{"truncated":true,"originalBytes":999}]}"#),
        (r#"{"a":1,"b":12"#, r#"{"a":1,"truncated":true,"originalBytes":999}"#),
        ("", r#"{"truncated":true,"originalBytes":999}"#),
    ] {
        let out = cut(head);
        assert_eq!(out.json(), json);
        assert!(out.truncated());
    }
    assert_eq!(payload(&r, "hello"), r#""hello""#);
    assert_eq!(payload(&r, "\"\\ud800\""), r#""\ufffd""#);
    assert!(payload(&r, &"[".repeat(5000)).len() < 1000);
}

#[test]
fn rules_of_the_user() {
    let rules = Rules {
        keys: vec!["customer_ssn".into()],
        keep: vec!["sessionToken".into()],
        patterns: vec![r"EMP-\d{6}".into(), "(".into(), "x*".into()],
        legacy_keys: false,
    };
    let (r, warnings) = Redactor::new(RedactionKey::of(&[7; 32]), rules);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let out = payload(&r, r#"{"customerSsn":"123","session_token":"kept","t":"see EMP-123456."}"#);
    assert!(out.contains("kept") && !out.contains("123\"") && !out.contains("EMP-"), "{out}");
    let (legacy, _) =
        Redactor::new(RedactionKey::of(&[7; 32]), Rules { legacy_keys: true, ..Rules::default() });
    assert!(payload(&legacy, r#"{"max_tokens":100}"#).contains("[redacted:key:"));
}

/// Texts with a secret that holds `S3cr3t` (or is the number 48213) in forms of their own.
#[test]
fn forms_in_text() {
    let r = redactor();
    for text in [
        "contraseña: S3cr3tValue\n",
        "mot_de_passe: S3cr3tValue\n",
        "VAULT_PASS=S3cr3tValue\n",
        "PAT=S3cr3tValue\n",
        "client-key-data: S3cr3tValue\n",
        "mnemonic: \"S3cr3tValue\"\n",
        "RECOVERY_CODE=S3cr3tValue\n",
        "pin: 48213\n",
        "private_key: S3cr3tValue\n",
        "connection_string: \"Server=db;User Id=sa;Password=S3cr3tValue\"\n",
        "password = S3cr3tValue:x\n",
        "db:\n  password: |\n    S3cr3tValue\n  user: x\n",
        "password: >-\n  S3cr3tValue\n",
        "<add key=\"ApiKey\" value=\"S3cr3tValue\"/>",
        "curl --user=u:S3cr3tValue https://h",
        "ALTER USER bob WITH PASSWORD 'S3cr3tValue';",
        "CREATE USER bob IDENTIFIED BY 'S3cr3tValue';",
        "tool -apiKey S3cr3tValue run",
        "setx API_KEY S3cr3tValue",
        "aws configure set aws_secret_access_key S3cr3tValue",
        "npm config set //registry.example.com/:_authToken S3cr3tValue",
        "user.setPassword(\"S3cr3tValue\");",
        "define('DB_PASSWORD', 'S3cr3tValue');",
        "define('DB_PASSWORD','S3cr3tValue');",
        "password\tS3cr3tValue\n",
        "password -> S3cr3tValue",
        "PASSWORD==\"S3cr3tValue\"",
        "db.example.com:5432:app:bob:S3cr3tValue\n",
        "12345678:AAS3cr3tValue0123456789abcdefghijkl",
        "**Password:** `S3cr3tValue`",
    ] {
        let out = r.text(text);
        let out = out.as_str();
        assert!(
            !out.contains("S3cr3t") && !out.contains("48213") && out.contains("[redacted:"),
            "{text} -> {out}"
        );
        assert_eq!(r.text(out).as_str(), out, "twice");
    }
    for json in [
        r#"{"backupCodes":["S3cr3tValue"]}"#,
        r#"{"pin":48213}"#,
        r#"{"kubeconfig":"S3cr3tValue"}"#,
        r#"{"seed_phrase":"S3cr3t words of a wallet"}"#,
        r#"["-u","bob:S3cr3tValue"]"#,
    ] {
        let out = payload(&r, json);
        assert!(!out.contains("S3cr3t") && !out.contains("48213"), "{json} -> {out}");
    }
}

#[test]
fn forms_that_are_none() {
    let r = redactor();
    for text in [
        "SELECT id FROM sessions WHERE token = ?",
        "UPDATE users SET password = ?, x = 1 WHERE id = $2",
        "WHERE token = %s",
        "WHERE token = :token",
        "WHERE token = @token",
        "WHERE token = $1",
        "token = 0",
        "db:\n  password: *default\n",
        "SSL_KEY=/etc/ssl/key.pem\n",
        "private_key: /etc/x.pem\n",
        "ssh_key: ~/.ssh/id_rsa\n",
        "SHORTCUT_KEY=F5\nDB_KEY=id\nJSON_KEY=foo\n",
        "headers = {\"Authorization\": \"Bearer \" + token}",
        "API_KEY=your_api_key_here\nTOKEN=YOUR_API_KEY\n",
        "GET /reset?token=:token",
        "pin: 13\n",
        "description: |\n  about passwords\n",
        "define('WP_DEBUG', 'true'); setName(\"bob\");",
        "fn token() -> Token; if token == other {}",
        "docker run --user=bob:staff alpine",
        "password\tuser\n",
        "src/a.rs:5432:app:bob:x\n",
        "git diff -token of the page",
    ] {
        assert_eq!(r.text(text).as_str(), text);
    }
    for json in [
        r#"["docker","run","-u","bob:staff","alpine"]"#,
        r#"{"pin":13,"ssh_key":"~/.ssh/id_rsa","private_key":"/etc/x.pem","pat":"Bob"}"#,
    ] {
        assert_eq!(payload(&r, json), json);
    }
}

#[test]
fn the_response_of_a_digest_goes() {
    let hex = "0123456789abcdef0123456789abcdef";
    let text = format!("Authorization: Digest username=\"bob\", realm=\"x\", response=\"{hex}\"");
    let out = redactor().text(&text);
    assert!(!out.as_str().contains(hex), "{}", out.as_str());
    let plain = format!("response=\"{hex}\"");
    assert_eq!(redactor().text(&plain).as_str(), plain);
}
