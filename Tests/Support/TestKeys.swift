/// Keys for tests: jwt-kit makes none for RSA, and a fresh one takes long. They protect nothing.
public enum TestKeys {
    /// A private key of 2048 bits, the fewest that are accepted.
    public static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC2DR8xb4TfskAW
        XTtIz1wiR7tD5azOQnnKQNWTO7zuXt5uwkdlmIha2GpeSc3AE+Yr3qX7SOo8lhAT
        sUDNGWrK1KTmahBrLqTxVJzn4KneQOowHdRV8Pf9Da99/KP/Vus5qaU0iEER6clm
        icT4bKnDiNxFzjz6oSciW/YjoGjGZ7+woJ/h4fy1l8k0y3J5OjN0G8HsMR1ttiz5
        /KuiRn7s9VuYwdpaKceSQMGWnKmwnXu0nJN3kqM8yNhG5CiyNWXlG6h3812w6fYc
        XvTfHv4FFA2gsZwU/jZm1sp2qg3fQFWf/JjTiZwVqMlSKYyOvrbXl6l+ulrPC2n+
        Phnufu1DAgMBAAECggEAMFe9r8f4VdqksAuj4YrG4YeAz9/eiosWgkHDNSzI19ez
        Y2ANy4m8s7sCS/V3QIlINuAR3W+YW+xRaplIJu6X8DKVc2Y44+1n+XnJjL2Y/h7o
        0UwqhYPOppEKx/7docF4B0DoUNHZzaLyS1tMRde9IOJn89V3VeqTVMlszDsdd4nD
        HelbBKIiismdPdD2aRA4qcvJ7BmsBb0QtVXiMQSiegrnPoVZk8eD9VdkdDOBlBbc
        eyc4w0itQZhU1qzD2XC568vgb14y3fL30Rf/i6aNQv9t4c2QKJD/AA0JTHG8mQpO
        UTM9fgsjhS8QnjmPPQhmW5FfMJ2NrfjlyT9dT71+SQKBgQD+2Ec1ewXf9uZsBBBd
        UdokGb76jgFKNKL7iCwUBSEEPQuz4lkxWOql/j4CeZfljmh4RhExBGltmYlGDalw
        QS/IxUsZVWQNu3CPSs0sbknT4IdJhpkIyvV38euzdYfUSMfyqP6d7nm5ejaIkk3m
        IviQqt9ByThxEDsSHdYH56heZQKBgQC24F/BuJ3IcUGrdN1xLgtZNlDlrCB+z3C+
        K5hCbddcffdgHLk9noLQ9ES9NP8mbrj77fA5PUk9fSe8A87feqYJcRsP+ivW0ahU
        j/6ZVFZ3vsZyNRUeeW2Hf8JWdO5fBz1Grz4ipurSdymeCWQnLz9LuuXCi0sRx07L
        fvMpNVMuhwKBgQDwHmyJ8Y6JhiN6JyIcK6F0XmXZwq9occwXYCjX/DUtvy8loOIV
        YwhEuxdGUbdTbij1Gl/cZaHIyN/VB85cnK8fZvXputF5NuFJwlsrwAcEAgy2tIHB
        DSrYhzNkdhszZBgxhhXSTP6YSpTTfba0XsMB3F5bp/LsZTSjT0V5UUcNGQKBgAk8
        f9ma520uOzDbsCt9NdmFosRW0zVUaM9SCFiij5P+ULYr/TcdgGHpVGdx+8kHIpSm
        ydE6RS6z2YPndVVYLnafncxKyFgLMsNCmotH9S4LFp7CC5UEcQG89CXFthxakz+0
        riC16XpDxnhS5RoNitbaU6xluJ7nQBWLDeDw7oiVAoGBAMykbKtuN7aa4an+9Lud
        w3kxWeCc3XiTf0bhHPedpSKZuwyca5ZSjnq1G/QiQuRKSXe9sU+PVqB+zHP3mzvS
        PNWExzqRECDFLtscuSM+9m02ENOGFBLTjAW4UFPoJRYmF8cRk4lS/Kp2CjJzrKvC
        Fx9IadDH/BWhtMIFMDfYpJve
        -----END PRIVATE KEY-----
        """

    /// A public key of 1024 bits.
    public static let weakPublicRSA = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDDzP6nVQN477Z28rH7//HUQ9FS
        JP6xijUhnjxTj70IttpyC4sVJP9FQ7H56sae/FqYVSHzMjm7fOniLT6ItSYfSZqt
        8Ok3IEKobAacWHzOcXOYqtkaYSO833s3pNqlaVFOxlvy10mGSBnTPE35YNhhuZ3Y
        pna5b8w27+sKGYPzPQIDAQAB
        -----END PUBLIC KEY-----
        """

    /// A private key for ES256.
    public static let ecdsa = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmCr1JOHvBSu5mkKu
        wFRW98RN0MJw2YHRF4UPzDmAXWyhRANCAARoBKV3yFhqh7z03Zs+9LhfDVhIYXyC
        cJb3IQe1u5439NL/w96tQU3kSXQ2Jvw4Ss3Zmyv2tGrY19s4nmUQGZ9k
        -----END PRIVATE KEY-----

        """
}
